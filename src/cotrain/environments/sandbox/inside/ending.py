"""The end of a program as in a plain interpreter, less the teardown of modules, which is slow.

Threads are waited for, exit functions run, globals are let go of, streams flushed; then the process
ends with the exit code that the interpreter would have used.
"""

import atexit
import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

COULD_NOT_FLUSH, INTERRUPTED = 120, 130


def run_to_end(work: Callable[[], None], name: str) -> NoReturn:
    """Does the work of the module `name`, then ends the process."""
    code = 0
    try:
        work()
    except SystemExit as leaving:
        code = exit_code(leaving.code)
    except KeyboardInterrupt:
        traceback.print_exc()
        code = INTERRUPTED
    leave(code, name)


def exit_code(given: Any) -> int:
    """What the interpreter makes of the argument of `sys.exit`.

    >>> exit_code(None), exit_code(3), exit_code(-1), exit_code(256)
    (0, 3, 255, 0)
    """
    if given is None:
        return 0
    if isinstance(given, int):
        return given & 0xFF
    print(given, file=sys.stderr)
    return 1


def leave(code: int, name: str) -> NoReturn:
    """The steps of the interpreter's end, in its order."""
    threading: Any = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    let_go(name)
    for stream in (sys.stdout, sys.stderr):
        code = code if flushed(stream) else COULD_NOT_FLUSH
    os._exit(code)


def flushed(stream: Any) -> bool:
    """Whether all that was written to the stream is out; so it is where the program closed it."""
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except Exception:  # noqa: BLE001 - a program's own stream may raise anything
        return False
    return True


def let_go(name: str) -> None:
    """Ends the life of a module's globals, those with an underscore first."""
    module = sys.modules.get(name)
    space = {} if module is None else vars(module)
    for key in sorted(space, key=lambda key: not key.startswith("_")):
        if key != "__builtins__":
            space[key] = None
    gc.collect()
