"""`T.serial`, `T.Pipelined`, `T.Parallel` and the grid of `T.Kernel`, before they become blocks."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from tile2triton.frontend.builder import Block, Builder, counter_name, require
from tile2triton.frontend.dynamic import Dynamic, is_scalar
from tile2triton.frontend.failures import failure
from tile2triton.frontend.pointers import make_pointers
from tile2triton.frontend.positions import Position, here
from tile2triton.frontend.spans import argument_positions
from tile2triton.frontend.statics import note_value, plain
from tile2triton.frontend.together import as_named
from tile2triton.frontend.trees import option_tree, placed_at, tree_of
from tile2triton.hints.loops import stages_of

# What these loops' optional arguments say changes nothing in what is emitted.
_HINTS = frozenset(
    "annotations order stage sync group coalesced_width loop_layout prefer_async prelude".split()
)
_BLOCK_NAMES = ("bx", "by", "bz")
_COUNTER_NAMES = ("i", "j", "k", "l")


class Loop:
    """A loop that has not started. Static serial loops can also be run by Python."""

    def __init__(self, operator: str, given: dict[str, Any]) -> None:
        self.operator = operator
        self.position = here()
        self.is_parallel = "extents" in given
        if self.is_parallel:
            self.bounds: tuple[Any, ...] = given.pop("extents")
        else:
            bounds = [given.pop(name, None) for name in ("start", "stop", "step")]
            if bounds[1] is None:
                # With one bound it is the end, as in `range`.
                bounds = [bounds[0]] if bounds[2] is None else [0, bounds[0], bounds[2]]
            self.bounds = tuple(bound for bound in bounds if bound is not None)
        self.options = given
        # Those of the options that leave nothing in the loop's header.
        self.hints: dict[str, Any] = {}
        # What is added to the variable of a loop that starts elsewhere than at 0.
        self.first: Any = 0
        for bound in self.bounds:
            is_float = isinstance(bound, Dynamic) and bound.is_float
            if not is_scalar(bound) or isinstance(bound, float) or is_float:
                raise failure(
                    "T2T157",
                    f"`{bound!r}` is no bound of a loop",
                    hint=f"T.{operator} takes whole numbers",
                )

    def __iter__(self) -> Iterator[int]:
        if self.is_parallel or any(isinstance(bound, Dynamic) for bound in self.bounds):
            raise failure(
                "T2T158",
                f"Python cannot run T.{self.operator} here",
                hint="write it right after `in` of a `for` in the kernel or in a macro; "
                "comprehensions, zip and enumerate take static ranges only",
            )
        for bound in self.bounds:
            note_value(bound)
        return iter(range(*(int(bound) for bound in self.bounds)))

    def header(self, builder: Builder) -> ast.Call:
        """The call that stands in the canonical `for`."""
        options = []
        places = argument_positions(self.position)
        for name, value in self.options.items():
            if name in _HINTS:
                if value is not None:
                    builder.facts.hints[f"{self.operator}({name})"] = value
                    self.hints[name] = plain(value)
            else:
                tree = placed_at(option_tree(value), places.get(name))
                options.append(ast.keyword(name, tree))
        if {"order", "stage"} <= self.hints.keys() and not self.options.get("num_stages"):
            stages = stages_of(self.hints["stage"])
            if stages > 1:
                options = [one for one in options if one.arg != "num_stages"]
                options.append(ast.keyword("num_stages", ast.Constant(stages)))
        bounds = [placed_at(tree_of(b), places.get(at)) for at, b in enumerate(self.bounds)]
        return _called(self.operator, bounds, options, self.position)

    def counters(self, builder: Builder, block: Block, wanted: Any) -> tuple[list[str], ast.expr]:
        """The names of the variables, and the target that holds them."""
        extents = self.bounds if self.is_parallel else (self.bounds,)
        names = wanted_names(wanted, len(extents), _COUNTER_NAMES, f"T.{self.operator}")
        trees = [tree_of(extent) for extent in extents]
        return _bind(builder, block, names, trees)


class KernelFrame:
    """`T.Kernel(...)`: a context that opens the body of one launch."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.position = here()
        # Without extents there is one program.
        self.extents: tuple[Any, ...] = given.get("blocks") or (1,)
        if len(self.extents) > 3:
            raise failure(
                "T2T260",
                f"T.Kernel has {len(self.extents)} grid extents",
                hint="a grid has one, two or three dimensions",
            )
        for extent in self.extents:
            if not is_scalar(extent) or isinstance(extent, float):
                raise failure("T2T157", f"`{extent!r}` is no extent of a grid")
            if isinstance(extent, Dynamic) and _reads_memory(extent.tree):
                raise failure(
                    "T2T316",
                    f"the grid extent `{extent}` is read from a tensor on the GPU",
                    hint="pass it as a scalar parameter, such as n: T.int32",
                )
        self.thread_extents = thread_extents(given.get("threads"))
        is_given = given.get("threads") is not None
        self.threads = math.prod(map(plain, self.thread_extents)) if is_given else None
        # The numbers of the program in the grid, while the block is open.
        self.block_numbers: tuple[Any, ...] = ()
        self.wanted: Any = None
        self.builder = require("T.Kernel")

    def opened(self, wanted: Any) -> KernelFrame:
        """The context of a `with` whose target has these names."""
        self.wanted = wanted
        return self

    def __enter__(self) -> Any:
        """Open the block; gives the block variables as the user takes them apart."""
        wanted = self.wanted
        builder = self.builder
        if len(builder.blocks) > 1:
            raise failure(
                "T2T161",
                "T.Kernel stands inside another block of the kernel",
                hint="end the outer block first, and open this one below it",
            )
        block = Block("kernel")
        given = wanted_names(wanted, len(self.extents), _BLOCK_NAMES, "T.Kernel")
        places = argument_positions(self.position)
        trees = [placed_at(tree_of(x), places.get(at)) for at, x in enumerate(self.extents)]
        names, target = _bind(builder, block, given, trees)
        options = []
        if self.threads is not None:
            threads = placed_at(ast.Constant(self.threads), places.get("threads"))
            options.append(ast.keyword("threads", threads))
        call = _called("Kernel", trees, options, self.position)
        statement = ast.With([ast.withitem(call, target)], block.body)
        statement.type_comment = None
        settled = builder.record(statement, self.position)
        assert isinstance(settled, ast.With)
        settled.body = block.body
        builder.open(block)
        builder.kernel = self
        self.block_numbers = tuple(Dynamic(counter_name(name, block), "int32") for name in names)
        make_pointers(builder)
        return _values(names, wanted, block)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is not None:
            return
        self.builder.close()
        self.builder.kernel = None
        statement = self.builder.block.body[-1]
        assert isinstance(statement, ast.With)
        if not statement.body:
            statement.body.append(ast.copy_location(ast.Pass(), statement))


def _reads_memory(tree: ast.expr) -> bool:
    return any(isinstance(node, ast.Subscript) for node in ast.walk(tree))


def _values(names: list[str], wanted: Any, block: Block) -> Any:
    values = tuple(Dynamic(counter_name(name, block), "int32") for name in names)
    return as_named(values, wanted)


def _bind(
    builder: Builder, block: Block, wanted: tuple[str, ...], extents: list[ast.expr]
) -> tuple[list[str], ast.expr]:
    names = [
        builder.bind_counter(name, extent, block)
        for name, extent in zip(wanted, extents, strict=True)
    ]
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return names, targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())


def wanted_names(names: Any, count: int, defaults: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The user's names for the variables; `_` and missing names get the usual ones."""
    if names is None or (isinstance(names, str) and count > 1):
        given: tuple[str, ...] = ("_",) * count
    else:
        given = names if isinstance(names, tuple) else (names,)
    if len(given) != count:
        raise failure(
            "T2T162",
            f"{what} has {count} {'dimension' if count == 1 else 'dimensions'}, "
            f"but its target has {len(given)} names",
            found=(f"names: {', '.join(given)}",),
        )
    fallback = [defaults[at] if at < len(defaults) else f"i{at}" for at in range(count)]
    return tuple(
        usual if not name.strip("_") else name for name, usual in zip(given, fallback, strict=True)
    )


def thread_extents(threads: Any) -> tuple[int, ...]:
    """The extents of a block of threads, x first; TileLang takes 128 threads if none are given."""
    if threads is None:
        return (128,)
    counts = threads if isinstance(threads, (tuple, list)) else (threads,)
    for count in counts:
        if not isinstance(count, int):
            raise failure(
                "T2T157", f"`{count!r}` is no number of threads", hint="write threads=128"
            )
        if count <= 0:
            raise failure(
                "T2T261",
                f"threads must be positive, but are {plain(count)}",
                hint="write a number from 1 to 1024, such as threads=128",
            )
    return tuple(counts)


def _called(
    operator: str, arguments: list[ast.expr], options: list[ast.keyword], position: Position
) -> ast.Call:
    function = ast.Attribute(ast.Name("T", ast.Load()), operator, ast.Load())
    call = ast.Call(function, arguments, options)
    position.put(call)
    return call


def loop_values(loop: Loop, names: list[str], wanted: Any, block: Block) -> Any:
    """The loop variables as the user takes them apart."""
    values = _values(names, wanted, block)
    return values if isinstance(loop.first, int) and loop.first == 0 else values + loop.first
