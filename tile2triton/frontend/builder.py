"""The program under construction: open blocks, what is bound in them, and the facts beside it."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from rewrites.facts import Facts, Tensor
from rewrites.nodes import Blank, Comment
from rewrites.operands.values import Making
from tile2triton.diagnostics import Diagnostic
from tile2triton.frontend.decisions import noting
from tile2triton.frontend.failures import failure
from tile2triton.frontend.names import Names
from tile2triton.frontend.positions import Position, here
from tile2triton.frontend.spans import name_position
from tile2triton.frontend.statics import number_of
from tile2triton.frontend.tile_names import TileNames

if TYPE_CHECKING:
    from tile2triton.frontend.loops import KernelFrame

_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset", "filename")


@dataclass
class Block:
    """A list of statements that is being filled."""

    # "function", "kernel", "loop", "parallel" or "branch".
    kind: str
    body: list[ast.stmt] = field(default_factory=list)
    # Comments and blank lines that wait for the next statement.
    pending: list[ast.stmt] = field(default_factory=list)
    # Names read in a loop before they are assigned there: they would carry over iterations.
    carried: frozenset[str] = frozenset()
    is_open: bool = True

    @property
    def is_loop(self) -> bool:
        return self.kind in ("loop", "parallel")


class Builder:
    """Records statements in canonical form. One is active in a thread while it traces a kernel."""

    def __init__(self, name: str, filename: str) -> None:
        self.facts = Facts(name=name, filename=filename)
        self.names = Names()
        self.names.claim(name)
        self.root = Block("function")
        self.blocks = [self.root]
        # Where each let, tile, loop variable, … was bound.
        self.bound: dict[str, Block] = {}
        # What the user calls it.
        self.wanted: dict[str, str] = {}
        self.tile_names = TileNames()
        # Names whose value never changes after it was bound.
        self.immutable: set[str] = set()
        self.problems: list[Diagnostic] = []
        # What Python decided from named numbers: conditions that held.
        self.decided: list[ast.expr] = []
        # Sizes and whatever else the tracing of an eager kernel is given or asked for.
        self.consts: dict[str, Any] = {}
        self.empties: list[str] = []
        self.dims: dict[str, str] = {}
        # What makes the whole operands of a program without T.Kernel.
        self.making = Making()
        self.takes_operands = False
        # The programs on whole operands that are being traced, one called by the other.
        self.running: list[Any] = []
        # Parameters that are stored to, with the operand that holds their value.
        self.updates: dict[str, Any] = {}
        # The T.Kernel that is open.
        self.kernel: KernelFrame | None = None
        # How many statements there are, and which of them stored to a name last.
        self.count = 0
        self.stored: dict[str, int] = {}
        # Results of operators without a destination.
        self.made: list[Any] = []
        # Tensors at addresses, which each kernel makes at its start, by the arguments of the call.
        self.pointers: dict[str, list[ast.expr]] = {}

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    def record(self, statement: ast.stmt, position: Position | None = None) -> ast.stmt:
        """Append a statement, with everything in it settled and placed."""
        is_outside = self.block is self.root and not self.takes_operands
        if is_outside and not isinstance(statement, ast.With):
            raise failure(
                "T2T173",
                "this stands outside of `with T.Kernel`",
                hint="move it into the body of T.Kernel",
            )
        (position or here()).put(statement)
        settled = cast(ast.stmt, self.settle(statement, statement))
        self.flush()
        self.block.body.append(settled)
        self.count += 1
        stored = stored_name(settled, self.facts)
        if stored is not None:
            self.stored[stored] = self.count
        return settled

    def flush(self) -> None:
        """Place the comments and the blank line that wait for a statement."""
        block = self.block
        if not block.body and block.pending and isinstance(block.pending[0], Blank):
            del block.pending[0]
        block.body += block.pending
        block.pending = []

    def open(self, block: Block) -> None:
        self.blocks.append(block)

    def close(self) -> None:
        block = self.blocks.pop()
        while block.pending and isinstance(block.pending[-1], Blank):
            block.pending.pop()
        if block.body:
            block.body += block.pending
        block.pending = []
        block.is_open = False

    def bind(self, wanted: str, is_mutable: bool = False) -> str:
        """A new name, bound in the block that is open."""
        name = self.names.claim(wanted)
        self.wanted[name] = wanted
        self.bound[name] = self.block
        if not is_mutable:
            self.immutable.add(name)
        return name

    def bind_counter(self, wanted: str, extent: ast.expr, block: Block) -> str:
        """The variable of a loop or of the grid; siblings share their name.

        The grid and T.Parallel stand for lanes of an extent each, so theirs must run alike.
        """
        shown = block.kind
        if block.kind != "loop":
            shown += ast.dump(self.settle(extent))
        known = self.names.known_counter(wanted, shown)
        is_free = known is None or not self.bound[known].is_open
        name = self.names.counter(wanted, shown, is_free)
        self.bound[name] = block
        self.wanted[name] = wanted
        self.immutable.add(name)
        return name

    def settle(self, node: ast.AST, place: ast.AST | None = None) -> ast.AST:
        """A copy that shares no node with another tree, with names of numbers and sizes chosen.

        Nodes without a place get that of `place`; those of the kernel's own file do not name it.
        """
        new = type(node).__new__(type(node))
        fields = new.__dict__
        fields.update(node.__dict__)
        if isinstance(node, ast.Name):
            fields["id"] = self._settled_name(node)
        if place is not None and "lineno" in node._attributes:
            if fields.get("lineno") is None:
                for attribute in _PLACE:
                    if attribute in place.__dict__:
                        fields[attribute] = place.__dict__[attribute]
            if fields.get("filename") == self.facts.filename:
                del fields["filename"]
        for attribute in node._fields:
            value = fields.get(attribute)
            if isinstance(value, ast.AST):
                # Operators and contexts have nothing inside to settle.
                if value._fields:
                    fields[attribute] = self.settle(value, place)
            elif isinstance(value, list):
                fields[attribute] = [
                    self.settle(x, place) if isinstance(x, ast.AST) else x for x in value
                ]
        return new

    def _settled_name(self, node: ast.Name) -> str:
        number, size = number_of(node), size_dtype(node)
        if number is not None:
            name, is_new = self.names.constant(node.id, number)
            if is_new:
                self.facts.constants[name] = number
            return name
        if size is not None:
            return self.dim(node.id, size)
        block = node.__dict__.get("block") or self.bound.get(node.id)
        if block is not None and not block.is_open:
            self._refuse_dead(node)
        return node.id

    def dim(self, wanted: str, dtype: str) -> str:
        """The name of a run-time size in the program."""
        if wanted not in self.dims:
            self.dims[wanted] = self.names.claim(wanted)
            self.facts.scalars[self.dims[wanted]] = dtype
        return self.dims[wanted]

    def add_tensor(
        self,
        name: str,
        shape: tuple[ast.expr, ...],
        dtype: str,
        role: str,
        strides: tuple[ast.expr, ...] = (),
        made_as: tuple[str, ...] = (),
    ) -> None:
        trees = tuple(cast(ast.expr, self.settle(tree)) for tree in shape)
        steps = tuple(cast(ast.expr, self.settle(tree)) for tree in strides)
        self.facts.tensors[name] = Tensor(name, trees, dtype, role, strides=steps, made_as=made_as)
        self.bound[name] = self.root

    def set_aside(self, diagnostic: Diagnostic) -> None:
        """Keep an error, so that the kernel's others are found too."""
        self.problems.append(diagnostic)

    def comment(self, text: str) -> None:
        self.block.pending.append(Comment(text))

    def drop_comment(self) -> None:
        """Forget the comment that stands right before the statement that is being executed."""
        pending = self.block.pending
        while pending and isinstance(pending[-1], Comment):
            pending.pop()

    def blank(self, above: bool) -> None:
        """A blank line; `above` comments that wait for a statement, as theirs left none."""
        pending = self.block.pending
        at = 0 if above else len(pending)
        if not pending or not isinstance(pending[min(at, len(pending) - 1)], Blank):
            pending.insert(at, Blank())

    def _refuse_dead(self, node: ast.Name) -> None:
        wanted = self.wanted.get(node.id, node.id)
        message = f"`{wanted}` is used outside the branch or loop that bound it"
        hint = f"make it a variable before: {wanted} = T.alloc_var(dtype, init=...)"
        raise failure("T2T120", message, hint=hint, at=name_position(here(), wanted))


def stored_name(statement: ast.stmt, facts: Facts) -> str | None:
    """The tensor, tile or variable that a statement stores to."""
    match statement:
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            place: ast.expr = target
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
            operator = facts.operators.get(name)
            if operator is None or not operator.writes:
                return None
            place = operator.arguments(call)[operator.writes]
        case _:
            return None
    while isinstance(place, ast.Subscript):
        place = place.value
    return place.id if isinstance(place, ast.Name) else None


def size_name(name: str, dtype: str) -> ast.Name:
    """The name of a run-time size in a tree that is not yet recorded."""
    node = ast.Name(name, ast.Load())
    node.size_dtype = dtype  # type: ignore[attr-defined]
    return node


def size_dtype(node: ast.AST) -> str | None:
    """The type of a name that `size_name` made; None for any other node."""
    return node.__dict__.get("size_dtype")


def counter_name(name: str, block: Block) -> ast.Name:
    """The variable of a loop or of the grid in a tree; another block may use the name after it."""
    node = ast.Name(name, ast.Load())
    node.block = block  # type: ignore[attr-defined]
    return node


_active = threading.local()


def active() -> Builder | None:
    """The builder of the kernel that this thread traces, if it does."""
    return getattr(_active, "builder", None)


def require(what: str) -> Builder:
    """The active builder; an error where no kernel is being traced."""
    builder = active()
    if builder is None:
        raise failure(
            "T2T150",
            f"{what} is used outside of a kernel",
            hint="it belongs into a function under @tile2triton.kernel, @T.prim_func or @T.macro",
        )
    return builder


@contextmanager
def activated(builder: Builder) -> Iterator[Builder]:
    """Make the builder the active one of this thread."""
    before = active()
    _active.builder = builder
    try:
        with noting(builder.decided):
            yield builder
    finally:
        _active.builder = before
