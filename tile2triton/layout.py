"""Documents, text with places where a line may break, and how they are laid out in 88 columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88
INDENT = 4

FLAT, BROKEN = False, True


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """A place to break; `text` stands there where the line is not broken."""

    text: str


class Parentheses:
    """Identity of a group: other documents ask by it whether that group is broken."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Stays on one line if it fits, else its own breaks are taken.

    With `only_if`, it is a group only where that other group is broken.
    """

    content: "Doc"
    identity: Parentheses | None = None
    only_if: Parentheses | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Indent:
    """One level deeper; with `only_if`, only where that group is broken."""

    content: "Doc"
    only_if: Parentheses | None = None


@dataclass(frozen=True, eq=False, slots=True)
class IfBroken:
    """One of two documents, by the state of a group (without `of`, the nearest one)."""

    broken: "Doc"
    flat: "Doc" = ""
    of: Parentheses | None = None


@dataclass(frozen=True, eq=False, slots=True)
class MayBreak:
    """Brackets that may break without breaking the optional parentheses around them."""

    content: "Doc"
    outer: Parentheses


@dataclass(frozen=True, eq=False, slots=True)
class ParenthesizeToFit:
    """Text that cannot break; it gets parentheses only where these make it fit."""

    text: str


@dataclass(frozen=True, eq=False, slots=True)
class ValueFirst:
    """A target with brackets and its value: the value breaks or gets parentheses first."""

    target: "Doc"
    value: "Doc"


Part: TypeAlias = Line | Group | Indent | IfBroken | MayBreak | ParenthesizeToFit | ValueFirst
Doc: TypeAlias = str | Part | tuple["Doc", ...]
_Item: TypeAlias = tuple[int, bool, Doc]

SOFT = Line("")
SPACE = Line(" ")


def layout(pieces: Iterable[Doc]) -> str:
    """The text of a printer's pieces: text as it is, each document laid out where it stands."""
    result: list[str] = []
    column = 0
    for piece in pieces:
        text = piece if isinstance(piece, str) else lay_out(piece, column)
        newline = text.rfind("\n")
        column = column + len(text) if newline < 0 else len(text) - newline - 1
        result.append(text)
    return "".join(result)


def lay_out(doc: Doc, indent: int) -> str:
    """The text of one statement that starts at column `indent`."""
    pieces: list[str] = []
    flatten(doc, pieces)
    text = "".join(pieces)
    return text if indent + len(text) <= WIDTH else _Writer(indent).write(doc)


def flatten(doc: Doc, pieces: list[str]) -> None:
    """Append the text of `doc` on one line to `pieces`."""
    if isinstance(doc, str):
        pieces.append(doc)
    elif isinstance(doc, tuple):
        for part in doc:
            if isinstance(part, str):
                pieces.append(part)
            else:
                flatten(part, pieces)
    elif isinstance(doc, (Line, ParenthesizeToFit)):
        pieces.append(doc.text)
    elif isinstance(doc, IfBroken):
        flatten(doc.flat, pieces)
    elif isinstance(doc, ValueFirst):
        flatten((doc.target, doc.value), pieces)
    else:
        flatten(doc.content, pieces)


class _Writer:
    """Writes a document: each group on one line if it fits, else broken, from the outside in."""

    def __init__(self, column: int) -> None:
        self.start = column
        self.column = column
        self.pieces: list[str] = []
        self.states: dict[Parentheses, bool] = {}
        # Whether a group around the present place was seen to fit on the present line.
        self.measured = False
        self.stack: list[_Item] = []

    def write(self, doc: Doc) -> str:
        stack = self.stack
        stack.append((self.start, BROKEN, doc))
        while stack:
            indent, state, doc = stack.pop()
            if isinstance(doc, str):
                self.pieces.append(doc)
                self.column += len(doc)
            elif isinstance(doc, tuple):
                stack.extend((indent, state, part) for part in reversed(doc))
            elif isinstance(doc, Line):
                self.line(doc, indent, state)
            elif isinstance(doc, Group):
                if not doc.only_if or self.states[doc.only_if]:
                    state = self.group_state(doc, indent, state)
                stack.append((indent, state, doc.content))
            elif isinstance(doc, Indent):
                stack.append((self.deeper(doc, indent), state, doc.content))
            elif isinstance(doc, IfBroken):
                stack.append((indent, state, self.choose(doc, state)))
            elif isinstance(doc, MayBreak):
                if not self.states[doc.outer]:
                    # The outer group fits with this part broken, so what is inside is still open.
                    self.measured = False
                stack.append((indent, state, doc.content))
            elif isinstance(doc, ParenthesizeToFit):
                self.parenthesize_to_fit(doc, indent)
            else:
                stack.append((indent, BROKEN, self.value_first(doc, indent)))
        return "".join(self.pieces)

    def line(self, line: Line, indent: int, state: bool) -> None:
        if state is FLAT:
            self.pieces.append(line.text)
            self.column += len(line.text)
        else:
            self.pieces.append("\n" + " " * indent)
            self.column = indent
            self.measured = False

    def group_state(self, group: Group, indent: int, state: bool) -> bool:
        if state is FLAT and self.measured:
            result = FLAT
        else:
            self.measured = True
            if group.identity:
                self.states[group.identity] = FLAT
            result = not self.fits((indent, FLAT, group.content))
        if group.identity:
            self.states[group.identity] = result
        return result

    def parenthesize_to_fit(self, doc: ParenthesizeToFit, indent: int) -> None:
        deeper = indent + INDENT
        if not self.fits((indent, FLAT, doc.text)) and deeper + len(doc.text) <= WIDTH:
            broken = ("(", Indent((SOFT, doc.text)), SOFT, ")")
            self.stack.append((indent, BROKEN, broken))
        else:
            self.stack.append((indent, FLAT, doc.text))

    def value_first(self, doc: ValueFirst, indent: int) -> Doc:
        pieces: list[str] = []
        flatten(doc.target, pieces)
        target = "".join(pieces)
        if isinstance(doc.value, str):
            unbroken = self.fits((indent, FLAT, (target, doc.value)))
        else:
            unbroken = self.fits((indent, BROKEN, (target, doc.value)))
        if unbroken:
            return (target, doc.value)
        if self.fits((indent, BROKEN, (target, "(", SOFT))):
            return (target, "(", Indent((SOFT, doc.value)), SOFT, ")")
        return (doc.target, doc.value)

    def deeper(self, doc: Indent, indent: int) -> int:
        return indent + INDENT if not doc.only_if or self.states[doc.only_if] else indent

    def choose(self, doc: IfBroken, state: bool) -> Doc:
        return doc.broken if (self.states[doc.of] if doc.of else state) else doc.flat

    def fits(self, first: _Item) -> bool:
        """Whether everything up to the next break fits when `first` stands at the present place.

        Brackets that may break count as broken, every line of them measured.
        """
        queue: list[tuple[int, bool, Doc, bool]] = [(*first, False)]
        rest = len(self.stack)
        column = self.column
        while True:
            if queue:
                indent, state, doc, every_line = queue.pop()
            elif rest:
                rest -= 1
                indent, state, doc = self.stack[rest]
                every_line = False
            else:
                return True
            if isinstance(doc, (str, ParenthesizeToFit)):
                column += len(doc if isinstance(doc, str) else doc.text)
                if column > WIDTH:
                    return False
            elif isinstance(doc, tuple):
                queue.extend((indent, state, part, every_line) for part in reversed(doc))
            elif isinstance(doc, Line):
                if state is FLAT:
                    column += len(doc.text)
                elif every_line:
                    column = indent
                else:
                    return True
            elif isinstance(doc, Group):
                if doc.identity:
                    self.states[doc.identity] = state
                queue.append((indent, state, doc.content, every_line))
            elif isinstance(doc, Indent):
                queue.append((self.deeper(doc, indent), state, doc.content, every_line))
            elif isinstance(doc, IfBroken):
                queue.append((indent, state, self.choose(doc, state), every_line))
            elif isinstance(doc, ValueFirst):
                queue.append((indent, state, (doc.target, doc.value), every_line))
            elif state is FLAT and not self.states[doc.outer]:
                queue.append((indent, BROKEN, doc.content, True))
            else:
                queue.append((indent, state, doc.content, every_line))
