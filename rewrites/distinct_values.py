"""Follow a Triton kernel's blocks and tell which hold a number of its own in each element.

What comes from memory or from a product is unlike its neighbours for all that a compiler knows;
what is computed from indices, or repeated along an axis, may be proved to be alike.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from rewrites.tree import walk

# What makes values that are alike along an axis, or may be.
NARROW = ("tl.broadcast_to", "tl.sum", "tl.max", "tl.min", "tl.reduce", "tl.gather", "tl.join")
RUN_TIME = ("tl.program_id", "tl.num_programs")
Visit = Callable[[ast.stmt], None]


@dataclass(frozen=True)
class Known:
    """What is known of a value: along which axes it varies, and where from.

    `rank` is that of a block, 0 of a scalar; `is_distinct` says that each element is a number of
    its own, `is_run_time` that the compiler does not know it.
    """

    rank: int = 0
    axes: frozenset[int] = frozenset()
    is_distinct: bool = False
    is_run_time: bool = False

    @property
    def is_full(self) -> bool:
        return self.rank > 0 and len(self.axes) == self.rank


class Values:
    """What is known of a kernel's names at the statement that is followed."""

    def __init__(self, kernel: ast.FunctionDef) -> None:
        arguments = [a for a in kernel.args.args if not _is_constexpr(a.annotation)]
        self.names = {a.arg: Known(is_run_time=True) for a in arguments}

    def follow(self, body: list[ast.stmt], visit: Visit | None = None) -> None:
        """Learn from a block's statements in order; `visit` sees each before what it changes."""
        for statement in body:
            if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
                self.names[statement.target.id] = Known(is_run_time=True)
            if isinstance(statement, (ast.For, ast.While, ast.If)):
                self.branches(statement, visit)
                continue
            if visit is not None:
                visit(statement)
            self.learn(statement)

    def branches(self, statement: ast.For | ast.While | ast.If, visit: Visit | None) -> None:
        """A loop's or branch's blocks; a turn of a loop starts with what the last one left."""
        before = dict(self.names)
        if not isinstance(statement, ast.If):
            for _ in range(2):
                self.follow(statement.body)
                self.names = _merged(before, self.names)
        self.follow(statement.body, visit)
        if isinstance(statement, ast.If):
            after, self.names = self.names, before
            self.follow(statement.orelse, visit)
            self.names = _merged(self.names, after)

    def learn(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[target], value=value):
                known = self.known(value)
            case ast.AugAssign(target=target, value=value):
                known = _together([self.known(target), self.known(value)])
            case _:
                return
        for node in walk(target):
            if isinstance(node, ast.Name):
                self.names[node.id] = known

    def known(self, tree: ast.expr) -> Known:
        match tree:
            case ast.Name(id=name):
                return self.names.get(name, Known())
            case ast.Call():
                return self.of_call(tree)
            case ast.Subscript(value=value, slice=index):
                return self.of_subscript(self.known(value), index)
        parts = [self.known(c) for c in ast.iter_child_nodes(tree) if isinstance(c, ast.expr)]
        match tree:
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
                # One that is known may decide alone.
                return replace(
                    _together(parts),
                    is_distinct=all(part.is_distinct for part in parts),
                    is_run_time=all(part.is_run_time for part in parts),
                )
        return _together(parts)

    def of_call(self, tree: ast.Call) -> Known:
        inner = [self.known(a) for a in [*tree.args, *(k.value for k in tree.keywords)]]
        function = ast.unparse(tree.func)
        match tree.func:
            case ast.Attribute(value=ast.Name(id="tl" | "libdevice")):
                pass
            case ast.Attribute(attr="load"):
                return Known(2, frozenset({0, 1}), True, True)
            case ast.Attribute(value=value):
                return _together([self.known(value), *inner])
        match function:
            case "tl.arange":
                return Known(1, frozenset({0}))
            case "tl.full" | "tl.zeros":
                shape = tree.args[0]
                rank = len(shape.elts) if isinstance(shape, ast.Tuple) else 1
                return replace(_together(inner), rank=rank)
            case "tl.dot":
                return Known(2, frozenset({0, 1}), True, True)
            case "tl.where":
                condition, *sides = inner
                distinct = [side.is_distinct for side in sides]
                found = any(distinct) if condition.is_run_time else all(distinct)
                return replace(_together(inner), is_distinct=condition.is_distinct or found)
        if function == "tl.load" or function.startswith("tl.atomic"):
            return replace(inner[0], is_distinct=inner[0].is_full, is_run_time=True)
        joined = _together(inner)
        if function in RUN_TIME:
            return replace(joined, is_run_time=True)
        return replace(joined, is_distinct=joined.is_distinct and function not in NARROW)

    @staticmethod
    def of_subscript(known: Known, index: ast.expr) -> Known:
        """`x[:, None]`: each `:` is an axis of `x`."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        kept = [at for at, part in enumerate(parts) if isinstance(part, ast.Slice)]
        axes = frozenset(at for axis, at in enumerate(kept) if axis in known.axes)
        narrow = len(kept) < len(parts)
        return Known(len(parts), axes, known.is_distinct and not narrow, known.is_run_time)


def _is_constexpr(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) == "tl.constexpr"


def _together(parts: list[Known]) -> Known:
    """An operation on all of them, element by element."""
    return Known(
        max((part.rank for part in parts), default=0),
        frozenset().union(*(part.axes for part in parts)),
        any(part.is_distinct for part in parts),
        any(part.is_run_time for part in parts),
    )


def _merged(first: dict[str, Known], last: dict[str, Known]) -> dict[str, Known]:
    """What is known of each name whichever of two ways it got its value."""
    result = {**first, **last}
    for key in first.keys() & last.keys():
        pair = [first[key], last[key]]
        result[key] = replace(_together(pair), is_distinct=all(one.is_distinct for one in pair))
    return result
