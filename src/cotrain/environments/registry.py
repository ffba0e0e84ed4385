"""From the name of an environment to its class, and to the environment with options and prompts.

A name is a shipped environment or an entry point of the group `cotrain.environments`
(`plan_path`), a file (`my/file.py:Class`) or a module (`package.module:Class`).
"""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeAlias, TypeGuard

from cotrain.config.faults import ConfigurationError, Fault, show
from cotrain.config.keys import nearest
from cotrain.environments.base import Environment
from cotrain.environments.options import build_options
from cotrain.environments.returned import phase_faults

EnvironmentClass: TypeAlias = type[Environment[Any]]

ENVIRONMENTS: Mapping[str, str] = MappingProxyType(
    {
        "plan_path": "cotrain.environments.plan_path:PlanPath",
        "sokoban": "cotrain.environments.sokoban:Sokoban",
        "sudoku": "cotrain.environments.sudoku:Sudoku",
        "coding": "cotrain.environments.coding:Coding",
        "maths": "cotrain.environments.maths:Maths",
    }
)
"""The shipped environments, imported when they are asked for."""

ENTRY_POINTS = "cotrain.environments"


def environment_names() -> tuple[str, ...]:
    """The names that need no file: shipped ones, then those of installed packages.

    >>> environment_names()[0]
    'plan_path'
    """
    installed = (point.name for point in entry_points(group=ENTRY_POINTS))
    return tuple(dict.fromkeys([*ENVIRONMENTS, *installed]))


def load_environment_class(name: str) -> EnvironmentClass:
    """The class that a name stands for.

    Raises ConfigurationError, with `environment.name` and the nearest known name, for a name, file,
    module or class that is not there, and for a class that is no environment. A fault inside the
    file that is imported is raised as it is.

    >>> load_environment_class("plan_path").name
    'plan_path'
    >>> load_environment_class("plan_pth")
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: environment.name = "plan_pth": unknown environment, \
allowed are plan_path, sokoban, sudoku, coding, maths, path/to/file.py:Class, \
package.module:Class; nearest known: plan_path
    """
    if ":" not in name:
        name_of_class = ENVIRONMENTS.get(name) or _entry_point(name)
        return _class_in(importlib.import_module(name_of_class.partition(":")[0]), name_of_class)
    source = name.rpartition(":")[0]
    module = _module_of_file(name) if source.endswith(".py") else _module(name)
    return _class_in(module, name)


def make_environment(
    name: str,
    options: Mapping[str, Any] | None = None,
    prompts: Mapping[str, str] | None = None,
) -> Environment[Any]:
    """An environment from its name, the mapping of its options, and prompts by role.

    Raises ConfigurationError: what `load_environment_class` and `build_options` refuse, and prompts
    for roles that no variant of the environment has.

    >>> make_environment("plan_path", {"size": 6}).options.size
    6
    >>> make_environment("plan_path", {"size": 6}, {"planer": "Plan."})
    Traceback (most recent call last):
    cotrain.config.faults.ConfigurationError: team.roles.planer: plan_path has no such role, \
allowed are proposer, tool, planner, solo, drafter, answerer; nearest known: planner
    """
    environment_class = load_environment_class(name)
    options_class: type[Any] = environment_class.Options
    environment = environment_class(build_options(options_class, options or {}), prompts)
    refuse_unknown_roles(environment, prompts or {})
    return environment


def refuse_unknown_roles(environment: Environment[Any], roles: Iterable[str]) -> None:
    """Raises ConfigurationError for each of these roles that no variant of the environment has."""
    known = [role.name for role in environment.all_roles()]
    allowed = f"{environment.name} has no such role, allowed are {', '.join(known)}"
    faults = [
        Fault(f"team.roles.{role}", "", allowed, nearest(role, known))
        for role in roles
        if role not in known
    ]
    if faults:
        raise ConfigurationError(faults)


def refuse_wrong_phases(environment: Environment[Any]) -> None:
    """Raises ConfigurationError, on one line, unless each agent acts in one phase of a turn."""
    if faults := phase_faults(environment.roles, environment.phases):
        of_class = f"{type(environment).__name__} cannot be played: {'; '.join(faults)}"
        raise ConfigurationError([Fault("environment.name", show(environment.name), of_class)])


def _entry_point(name: str) -> str:
    found = entry_points(group=ENTRY_POINTS, name=name)
    if found:
        return next(iter(found)).value
    known = environment_names()
    forms = (*known, "path/to/file.py:Class", "package.module:Class")
    raise _fault(name, f"unknown environment, allowed are {', '.join(forms)}", nearest(name, known))


def _module_of_file(name: str) -> ModuleType:
    path = Path(name.rpartition(":")[0]).expanduser().resolve()
    if not path.is_file():
        beside = [str(file) for file in path.parent.glob("*.py")]
        raise _fault(name, f"there is no file {path}", nearest(str(path), beside))
    module_name = f"{path.stem}_{hashlib.blake2b(bytes(path), digest_size=4).hexdigest()}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up while the class is made.
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _module(name: str) -> ModuleType:
    module_name = name.rpartition(":")[0]
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # A module that the named one imports is the author's fault to see, not a wrong name.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        allowed = f"there is no module {error.name}; a file is written path/to/file.py:Class"
        raise _fault(name, allowed) from error


def _class_in(module: ModuleType, name: str) -> EnvironmentClass:
    class_name = name.rpartition(":")[2]
    found = getattr(module, class_name, None)
    if _is_environment(found):
        return found
    known = [key for key, value in vars(module).items() if _is_environment(value)]
    allowed = f"allowed are {', '.join(known)}" if known else "its module has none"
    allowed = f"{class_name} is no subclass of cotrain.Environment; {allowed}"
    raise _fault(name, allowed, nearest(class_name, known))


def _is_environment(value: object) -> TypeGuard[EnvironmentClass]:
    is_subclass = isinstance(value, type) and issubclass(value, Environment)
    return is_subclass and value is not Environment


def _fault(name: str, allowed: str, nearest_known: str = "") -> ConfigurationError:
    return ConfigurationError([Fault("environment.name", show(name), allowed, nearest_known)])
