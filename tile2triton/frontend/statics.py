"""Numbers with the user's names: making them, and getting at their trees and values."""

from __future__ import annotations

import ast
from typing import Any

from tile2triton.frontend.decisions import note
from tile2triton.frontend.named_numbers import StaticFloat, StaticInt, equality, with_tree


def number_name(name: str, value: int | float) -> ast.Name:
    """The name of a static number, with its value, in a tree that is not yet recorded."""
    node = ast.Name(name, ast.Load())
    node.number = value  # type: ignore[attr-defined]
    return node


def number_of(node: ast.AST) -> int | float | None:
    """The value of a name that `number_name` made; None for any other node."""
    return node.__dict__.get("number")


def named(name: str, value: Any) -> Any:
    """A number under the user's name; an int with a tree, and anything else, is left alone."""
    if is_number_of_a_library(value):
        value = value.item()
    if isinstance(value, StaticFloat) and not isinstance(value.tree, ast.Name):
        # How a scale was computed does not matter to the kernel: it is a number with a name.
        note_value(value)
        value = float(value)
    if type(value) in (int, float):
        return with_tree(value, number_name(name, value))
    return value


def is_number_of_a_library(value: Any) -> bool:
    """A NumPy scalar, known by how it is made rather than by importing its library."""
    return type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0


def plain(value: Any) -> Any:
    """The number itself, without its tree."""
    if isinstance(value, StaticInt):
        return int(value)
    if isinstance(value, StaticFloat):
        return float(value)
    return value


def note_value(value: Any) -> None:
    """Note that what is made of a named number is right for the value that it has."""
    if is_named(value):
        note(equality(value))


def is_named(value: Any) -> bool:
    return isinstance(value, (StaticInt, StaticFloat))
