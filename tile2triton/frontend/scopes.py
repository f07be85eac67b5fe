"""What each name of a running function means, and in which block it was given that meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tile2triton.frontend.builder import Block, Builder
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.failures import failure
from tile2triton.frontend.values import Buffer, Variable


@dataclass(frozen=True)
class Binding:
    value: Any
    block: Block


@dataclass
class Scope:
    """The local names of one running function of the user's."""

    builder: Builder
    home: Block
    bindings: dict[str, Binding] = field(default_factory=dict)
    # A macro's parameters that stand for what was passed.
    references: set[str] = field(default_factory=set)
    # The block that was open when each loop that Python itself runs began its body.
    python_loops: list[Block] = field(default_factory=list)
    is_macro: bool = False

    def value(self, name: str) -> Any:
        binding = self.bindings.get(name)
        return binding.value if binding is not None and binding.block.is_open else None

    def bind(self, name: str, value: Any) -> Any:
        self.bindings[name] = Binding(value, self.builder.block)
        return value

    def current(self, name: str) -> Any:
        """The value, or what stands for it where the name has none here."""
        binding = self.bindings.get(name)
        if binding is None:
            return Dead(
                name,
                f"`{name}` has no value here",
                "it is assigned only in a branch that was not taken",
            )
        if binding.block.is_open:
            return binding.value
        where = "branch" if binding.block.kind == "branch" else "loop"
        if binding.block.kind == "kernel":
            where = "T.Kernel"
        return Dead(
            name,
            f"`{name}` is used outside the {where} that bound it",
            f"make it a variable before the {where}: {name} = T.alloc_var(dtype, init=...)",
        )

    def snapshot(self) -> dict[str, Binding]:
        return dict(self.bindings)

    def restore(self, bindings: dict[str, Binding]) -> None:
        self.bindings = dict(bindings)

    def refuse_carried(self, name: str) -> None:
        """An assignment that Python would carry into the next turn of a loop of the kernel."""
        binding = self.bindings.get(name)
        if binding is None or isinstance(binding.value, Variable):
            return
        blocks = self.builder.blocks
        outside = next((at for at, one in enumerate(blocks) if one is binding.block), None)
        if outside is None:
            return
        for block in blocks[outside + 1 :]:
            if name in block.carried and isinstance(binding.value, Buffer):
                raise failure(
                    "T2T121",
                    f"`{name}` would be another tile in the next turn of the loop",
                    hint=f"store to the tile: `{name}[...] = ...`, or `{name} += ...` and its kind",
                )
            if name in block.carried:
                raise failure(
                    "T2T121",
                    f"`{name}` would have to change from one turn of the loop to the next, "
                    "but it is no variable",
                    found=(f"{name} = {_shown(binding.value)} before the loop",),
                    hint=f"make it a variable before the loop: "
                    f"{name} = T.alloc_var(dtype, init={_shown(binding.value)})",
                )

    def python_turns(self, iterable: Any) -> Iterator[Any]:
        """The turns of a loop that Python runs and that leaves its body once for each."""
        self.python_loops.append(self.builder.block)
        try:
            yield from iterable
        finally:
            self.python_loops.pop()

    def is_in_tiles(self) -> bool:
        """Whether the innermost loop is one over the tiles of an extent."""
        blocks = self.builder.blocks
        start = blocks.index(self.python_loops[-1]) + 1 if self.python_loops else 0
        return any(block.kind == "tiles" for block in blocks[start:])

    def leaves_python_loop(self, word: str) -> bool:
        """Whether a `break` or `continue` belongs to a loop that Python runs."""
        if not self.python_loops:
            return False
        blocks = self.builder.blocks
        inside = blocks[blocks.index(self.python_loops[-1]) + 1 :]
        if any(block.is_loop for block in inside):
            return False
        if inside:
            raise failure(
                "T2T165",
                f"`{word}` of a loop that Python runs depends on what is known at run time only",
                hint="guard the rest of the body with an `if`, or loop with T.serial",
            )
        return True


def _shown(value: Any) -> str:
    text = str(float(value)) if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else "..."
