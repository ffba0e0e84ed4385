"""Reads a text that was published inside a pickle. The pickle itself is never loaded."""

import base64
import binascii
import pickletools
import zlib

MAX_BYTES = 1 << 30

_TEXT = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})


class UnreadableTextError(ValueError):
    """What was given is no text in that form."""


def text_of_pickle(encoded: str) -> str:
    """The text in a base64, zlib and pickle wrapping, of 1 GiB at most.

    The pickle is taken apart as a list of instructions, and none is carried out: it must be one
    text and nothing else. Raises UnreadableTextError for all that is not.

    >>> text_of_pickle("eJxrYJnKxQABPWzRhjoKRrFT9AAlYgPf")
    '[1, 2]'
    """
    try:
        opened = zlib.decompressobj()
        content = opened.decompress(base64.b64decode(encoded, validate=True), MAX_BYTES)
        if not opened.eof:
            raise UnreadableTextError(f"it is cut, or longer than {MAX_BYTES} bytes")
        instructions = [(code.name, value) for code, value, _ in pickletools.genops(content)]
    except UnreadableTextError:
        raise
    except (binascii.Error, zlib.error, ValueError) as error:
        raise UnreadableTextError(f"it is no text in base64, zlib and pickle: {error}") from error
    texts = [value for name, value in instructions if name in _TEXT]
    others = sorted({name for name, _ in instructions} - _TEXT - _AROUND)
    if others or len(texts) != 1:
        held = f"{len(texts)} texts" + f" and {', '.join(others)}" * bool(others)
        raise UnreadableTextError(f"its pickle must hold one text and nothing else, it has {held}")
    return str(texts[0])
