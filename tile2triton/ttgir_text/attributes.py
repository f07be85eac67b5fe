"""Attributes of TTGIR as text, `#ttg.blocked<{order = [1, 0]}>`, read into names and values."""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from ..layouts.errors import layout_error

_TOKEN = re.compile(
    r"\s*(#[\w.$-]+|!?[A-Za-z_][\w.$-]*|-?\d+(?=[^\w.])|-?\d+$|->|\"[^\"]*\"|[\[\]{}<>=,:()+*x-])"
)


@dataclass(frozen=True)
class Alias:
    """The name of an attribute that is defined elsewhere, without its #."""

    name: str


@dataclass(frozen=True)
class Attribute:
    """`#ttg.name<positional, {fields}>`."""

    name: str
    positional: "tuple[Value, ...]" = ()
    fields: "dict[str, Value]" = field(default_factory=dict)


Value: TypeAlias = int | bool | str | Alias | Attribute | tuple["Value", ...]


def read_attribute(text: str) -> Value:
    """The one attribute or value that is the whole text; raises LayoutError where it is none."""
    reader = _Reader(text)
    value = reader.value()
    reader.expect_end()
    return value


class _Reader:
    """Reads tokens from left to right; `#ttg.…` followed by `<` is an attribute, else an alias."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match[1] if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.error()
        self.at = match.end()
        return match[1]

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error()

    def expect_end(self) -> None:
        if self.text[self.at :].strip():
            raise self.error()

    def error(self) -> Exception:
        return layout_error(
            "T2T928",
            "this is no attribute of a layout",
            f"text: {self.text.strip()[:200]}",
            f"not read from: {self.text[self.at :].strip()[:40] or 'its end'}",
        )

    def value(self) -> Value:
        token = self.take()
        if token == "[":
            return self.values("]")
        if token.startswith("#"):
            return self.attribute(token[1:])
        if token in ("true", "false"):
            return token == "true"
        if re.fullmatch(r"-?\d+", token):
            number = int(token)
            # A gap of a padded layout is written 64:+8.
            if self.accept(":"):
                self.accept("+")
                return (number, self.value())
            return number
        return token

    def values(self, end: str) -> tuple[Value, ...]:
        items: list[Value] = []
        while not self.accept(end):
            items.append(self.value())
            if not self.accept(","):
                self.expect(end)
                break
        return tuple(items)

    def attribute(self, name: str) -> Value:
        if not self.accept("<"):
            # Some attributes have no parameters: `#ttg.shared_memory`.
            return Attribute(name) if "." in name else Alias(name)
        positional: list[Value] = []
        fields: dict[str, Value] = {}
        while not self.accept(">"):
            if self.accept("{"):
                fields |= self.fields("}")
            else:
                positional.append(self.value())
            self.accept(",")
            # Keywords may also follow the braces: `alignment = 16`.
            if re.fullmatch(r"[A-Za-z]\w*", self.peek()):
                fields |= self.fields(">")
                break
        return Attribute(name, tuple(positional), fields)

    def fields(self, end: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not self.accept(end):
            key = self.take()
            self.expect("=")
            found[key] = self.value()
            if not self.accept(","):
                self.expect(end)
                break
        return found
