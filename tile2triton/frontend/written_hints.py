"""Set down hints that leave no statement in the tree, for those who decide what becomes of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from rewrites.facts import WrittenHint
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.layouts import Layout
from tile2triton.frontend.positions import Position, here
from tile2triton.frontend.statics import plain
from tile2triton.frontend.values import Buffer

if TYPE_CHECKING:
    from tile2triton.frontend.loops import Loop


def write_down(builder: Builder, operator: str, given: dict[str, Any]) -> None:
    """Set down a hint that is a statement of its own; one for each layout of T.annotate_layout."""
    layouts = given.get("layout_map")
    if isinstance(layouts, dict):
        for buffer, layout in layouts.items():
            if isinstance(buffer, Buffer):
                written = builder.wanted.get(buffer.name, buffer.name)
                construct = f"T.{operator}({{{written}: {_layout_text(layout)}}})"
                about = {"buffer": buffer.name, "layout": layout}
                _set_down(builder, operator, construct, here(), about)
        return
    shown = ", ".join(_text(value) for value in given.values())
    about = {key: plain(value) for key, value in given.items()}
    # What all threads do, and not those of a role or branch only.
    about["is_of_all"] = builder.block.kind == "kernel"
    _set_down(builder, operator, f"T.{operator}({shown})", here(), about)


def write_down_loop(builder: Builder, loop: Loop, body: list[ast.stmt]) -> None:
    """Set down the hints of a loop whose body has been traced."""
    for name, value in loop.hints.items():
        shown = f"{name}={_text(value)}"
        if name in ("order", "stage") and len({"order", "stage"} & loop.hints.keys()) == 2:
            # The two are one schedule.
            if name == "order":
                continue
            shown = f"order={_text(loop.hints['order'])}, {shown}"
        construct = f"T.{loop.operator}(…, {shown})"
        about = {**loop.hints, "option": name, "body": tuple(body)}
        _set_down(builder, loop.operator, construct, loop.position, about)


def write_down_cluster(builder: Builder, cluster_dims: Any) -> None:
    """Set down that a grid's programs are neighbours in groups."""
    construct = f"T.ClusterKernel(…, cluster_dims={_text(cluster_dims)})"
    _set_down(builder, "ClusterKernel", construct, here(), {})


def _set_down(
    builder: Builder, operator: str, construct: str, position: Position, about: dict[str, Any]
) -> None:
    filename = position.filename if position.filename != builder.facts.filename else ""
    # A grid that is being made opens on this line.
    kernel = builder.kernel.position.line if builder.kernel is not None else position.line
    made = WrittenHint(operator, construct, position.line, about, kernel, filename)
    builder.facts.written_hints.append(made)


def _layout_text(layout: Any) -> str:
    if isinstance(layout, Layout):
        return layout.maker
    return "a function" if callable(layout) else _text(layout)


def _text(value: Any) -> str:
    """A short form of a hint's argument."""
    if isinstance(value, Buffer):
        return value.name
    if isinstance(value, tuple):
        return ", ".join(_text(one) for one in value)
    text = repr(plain(value)) if isinstance(value, (int, float, str, list)) else str(value)
    return text if len(text) <= 40 else "…"
