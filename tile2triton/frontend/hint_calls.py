"""What a call of a hint does: it is checked, and kept beside the program."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from rewrites.facts import Erasure
from rewrites.quote import place
from tile2triton.diagnostics import from_problems
from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import plain
from tile2triton.frontend.values import Buffer
from tile2triton.frontend.written_hints import write_down
from tile2triton.ops.base import Operator, no_problems


def note_hint(operator: Operator, given: dict[str, Any], written: Callable[..., ast.Call]) -> None:
    """Check a hint and keep it beside the tree."""
    builder = require(f"T.{operator.name}")
    # What hints hold, layouts for one, need not have a tree; those that are checked do.
    if operator.check is not no_problems:
        tree = builder.settle(written(operator, given))
        assert isinstance(tree, ast.Call)
        place(tree, tree)
        problems = list(operator.check(tree, builder.facts))
        if problems:
            raise from_problems(problems, here().filename)
    # A comment on what leaves no statement would end up on another.
    builder.drop_comment()
    if operator.name == "annotate_layout":
        _note_layouts(builder, given["layout_map"])
    builder.facts.hints[operator.name] = {key: _kept(value) for key, value in given.items()}
    write_down(builder, operator.name, given)


def _note_layouts(builder: Builder, layouts: Any) -> None:
    """A tensor's layout is seen by other kernels, so that leaving it out is worth a word."""
    keys = list(layouts) if isinstance(layouts, dict) else [layouts]
    wrong = [one for one in keys if not (isinstance(one, Buffer) and isinstance(layouts, dict))]
    if wrong:
        raise failure(
            "T2T297",
            f"T.annotate_layout takes buffers and their layouts, but found {wrong[0]!r}",
            hint="write a dict, such as T.annotate_layout({tile: layout})",
        )
    for buffer in keys:
        if buffer.scope == "global":
            reason = (
                f"`{buffer.name}` keeps its rows one after the other, here and in every other "
                "kernel that tile2triton makes; only code that knows the layout sees a difference"
            )
            position = here()
            filename = position.filename if position.filename != builder.facts.filename else ""
            builder.facts.erased.append(
                Erasure("T.annotate_layout", position.line, reason, filename)
            )


def _kept(value: Any) -> Any:
    """A hint's argument as plain data."""
    if isinstance(value, (Buffer, Dynamic)):
        return str(value)
    if isinstance(value, dict):
        return {_kept(key): _kept(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_kept(item) for item in value)
    return plain(value)
