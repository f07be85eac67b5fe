"""Text between commas and brackets."""

import re

_SIGN = re.compile(r"->|[<>\[\]{}(),]")
_COLON = re.compile(r"->|[<>\[\]{}()]| : ")
_OPENING, _CLOSING = "<[{(", ">]})"


def parts(text: str, start: int = 0) -> tuple[list[tuple[int, str]], bool]:
    """What stands between commas from `start` on, up to the bracket that closes it all.

    Each part has the place where it begins, spaces aside; False where there is no such bracket.
    """
    found = []
    begin, depth = start, 0
    for sign in _SIGN.finditer(text, start):
        kind, at = sign[0], sign.start()
        if kind == "->" or (kind == "," and depth):
            continue
        if kind in _OPENING:
            depth += 1
            continue
        if kind in _CLOSING:
            depth -= 1
            if depth >= 0:
                continue
        found.append(_stripped(text, begin, at))
        begin = at + 1
        if depth < 0:
            return found, True
    return [*found, _stripped(text, begin, len(text))], False


def after_colon(text: str) -> int:
    """The place behind the first colon that stands in no brackets; -1 where there is none."""
    depth = 0
    for sign in _COLON.finditer(text):
        if sign[0] == " : ":
            if not depth:
                return sign.end()
        elif sign[0] != "->":
            depth += 1 if sign[0] in _OPENING else -1
    return -1


def _stripped(text: str, begin: int, end: int) -> tuple[int, str]:
    part = text[begin:end]
    return begin + len(part) - len(part.lstrip()), part.strip()
