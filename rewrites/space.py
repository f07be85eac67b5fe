"""An iteration space: loop variables as tensor axes, and expressions over them as Triton values."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rewrites import tensors, tiles
from rewrites.environment import next_power_of_two, padded
from rewrites.errors import refuse
from rewrites.lowering import Lowering, expand_dims, offset_name
from rewrites.operations import binary, comparison, unary
from rewrites.quote import expr, name, substituted
from rewrites.scalars import logical
from rewrites.tree import index_list, walk
from rewrites.values import Value, number


@dataclass(frozen=True)
class Axis:
    """A loop variable as an axis: `extent` elements that count, `length` lanes in Triton."""

    variable: str
    extent: int
    tree: ast.expr
    length: int
    length_tree: ast.expr
    # Where the variable stands among those of its loop.
    place: int = 0

    @classmethod
    def of(cls, variable: str, extent: int, tree: ast.expr) -> "Axis":
        return cls(variable, extent, tree, next_power_of_two(extent), padded(extent, tree))


class Space:
    """Lowers expressions for one set of axes; without axes it lowers scalar code."""

    def __init__(self, lowering: Lowering, axes: tuple[Axis, ...] = ()) -> None:
        self.lowering = lowering
        self.facts = lowering.facts
        self.environment = lowering.environment
        self.axes = axes
        self.position = {axis.variable: index for index, axis in enumerate(axes)}
        self.lets: dict[str, Value] = {}
        # Of lets that are arithmetic of loop variables: how they were written.
        self.spellings: dict[str, ast.expr] = {}
        self.conditions: list[Value] = []
        self._vectors: dict[str, tuple[ast.Name, int]] = {}
        for axis in axes:
            zero = ast.Constant(0)
            self.environment.add_counter(axis.variable, zero, ast.Constant(axis.extent), 1)

    @property
    def rank(self) -> int:
        return len(self.axes)

    def start_statement(self) -> None:
        """Forget the offsets of the statement before: what they were made of may have changed."""
        self._vectors.clear()

    # Expressions.

    def value(self, tree: ast.expr) -> Value:
        """The Triton value of a canonical expression."""
        if self.axes and self._one_axis(tree) is not None:
            return self.vector(tree)
        return self._dispatch(tree)

    def _dispatch(self, tree: ast.expr) -> Value:
        match tree:
            case ast.Constant(value=bool() | int() | float() as constant):
                return number(constant)
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
                return number(float(text))
            case ast.Name(id=identifier):
                return self._name(tree, identifier)
            case ast.UnaryOp(op=op, operand=operand):
                return unary(tree, op, self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return binary(self, tree, left, op, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return comparison(op, self.value(left), self.value(right), left, right)
            case ast.BoolOp(op=op, values=values):
                return logical(op, [self.value(part) for part in values])
            case ast.Subscript(value=ast.Name(id=buffer)):
                return self.read(tree, buffer, index_list(tree))
            case ast.Call(func=ast.Attribute(attr=function)) if function in self.facts.operators:
                result = self.run_operator(tree)
                if result is not None:
                    return result
        raise refuse(
            tree,
            "T2T301",
            f"`{ast.unparse(tree)}` has no value in a kernel",
            hint="use a scalar, an element such as `buf[i, j]`, or an operator that has a value",
        )

    def _name(self, tree: ast.expr, identifier: str) -> Value:
        facts = self.facts
        if identifier in self.lets:
            return self.lets[identifier]
        if identifier in facts.constants:
            return replace(number(facts.constants[identifier]), tree=name(identifier))
        if identifier in facts.variables:
            return Value(name(identifier), facts.variables[identifier])
        if identifier in facts.tiles and facts.tiles[identifier].is_scalar:
            return Value(name(identifier), facts.tiles[identifier].dtype)
        if identifier in self.environment.dtypes:
            weak = identifier in self.environment.unrolled
            return Value(name(identifier), self.environment.dtypes[identifier], weak=weak)
        raise refuse(
            tree,
            "T2T302",
            f"`{identifier}` is a whole tile or tensor, where one element is wanted",
            hint=f"write an element, such as `{identifier}[i, j]`, inside T.Parallel",
        )

    def run_operator(self, call: ast.Call) -> Value | None:
        """Emit the statements of an operator's call; its value where it has one."""
        assert isinstance(call.func, ast.Attribute)
        operator = self.facts.operators[call.func.attr]
        if operator.lower is None:
            raise refuse(
                call, "T2T319", f"T.{operator.name} cannot stand here: `{ast.unparse(call)}`"
            )
        result = operator.lower(self, operator.arguments(call), call)
        assert result is None or isinstance(result, Value)
        return result

    def read(self, tree: ast.expr, buffer: str, indices: list[ast.expr]) -> Value:
        """The element `buffer[indices]` for every point of the space."""
        if buffer in self.facts.tiles:
            return tiles.read(self, buffer, indices, tree)
        return tensors.read(self, buffer, indices, tree)

    # Axes.

    def spelled_out(self, indices: list[ast.expr]) -> list[ast.expr]:
        """Indices of tiles with the lets in them written out, so that their form is seen."""
        if not self.spellings:
            return indices
        return [substituted(index, self.spellings) for index in indices]

    def axes_of(self, tree: ast.expr) -> set[int]:
        """The positions of the axes that an expression varies over."""
        found: set[int] = set()
        for node in walk(tree):
            if isinstance(node, ast.Name):
                if node.id in self.position:
                    found.add(self.position[node.id])
                elif node.id in self.lets:
                    found |= self.lets[node.id].axes
        return found

    def _one_axis(self, tree: ast.expr) -> int | None:
        """The axis of an index expression that varies over exactly one and loads nothing."""
        found = None
        for node in walk(tree):
            if isinstance(node, ast.Name) and node.id in self.position:
                if found not in (None, self.position[node.id]):
                    return None
                found = self.position[node.id]
            elif not self._is_index(node):
                return None
        return found

    def _is_index(self, node: ast.AST) -> bool:
        """Whether a part of an expression is int32, as offsets are made of."""
        match node:
            case ast.Constant(value=value):
                return type(value) is int and number(value).dtype == "int32"
            case ast.Name(id=identifier) if identifier in self.lets:
                return False
            case ast.Name(id=identifier) if identifier in self.facts.constants:
                return number(self.facts.constants[identifier]).dtype == "int32"
            case ast.Name(id=identifier):
                known = self.environment.dtypes.get(identifier)
                return (self.facts.variables.get(identifier) or known) == "int32"
        return isinstance(node, _INDEX_NODES)

    def vector(self, tree: ast.expr) -> Value:
        """An index expression over one axis, as a named one-dimensional tensor, expanded."""
        vector, position = self.flat_vector(tree)
        return Value(self.expand(vector, position), "int32", frozenset([position]))

    def flat_vector(self, tree: ast.expr) -> tuple[ast.Name, int]:
        """The named one-dimensional tensor of an index expression, and its axis."""
        key = ast.dump(tree)
        if key not in self._vectors:
            position = self._one_axis(tree)
            assert position is not None
            axis = self.axes[position]
            lane = _Lane(self.lowering, axis)
            base = f"offs_{offset_name(axis.tree, axis.variable)}"
            self._vectors[key] = (
                self.lowering.assign(base, lane.value(tree).tree),
                position,
            )
        vector, position = self._vectors[key]
        return name(vector.id), position

    def missing(self, axes: frozenset[int]) -> list[int]:
        """The positions of the axes of more than one element that are not among `axes`."""
        return [p for p, axis in enumerate(self.axes) if p not in axes and axis.extent > 1]

    def expand(self, vector: ast.expr, position: int) -> ast.expr:
        """A one-dimensional tensor along `position`, with extent 1 on all other axes."""
        return expand_dims(vector, position, self.rank)

    def shape(self, axes: frozenset[int] | None = None) -> list[ast.expr]:
        """The lengths of all axes; 1 for those not in `axes` where it is given."""
        return [
            axis.length_tree if axes is None or index in axes else ast.Constant(1)
            for index, axis in enumerate(self.axes)
        ]

    def in_extent(self, position: int) -> Value | None:
        """Where the axis has more lanes than elements: which lanes count."""
        axis = self.axes[position]
        if axis.length == axis.extent:
            return None
        lanes = self.vector(name(axis.variable))
        return Value(expr("lanes < extent", lanes=lanes.tree, extent=axis.tree), "bool", lanes.axes)

    def condition(self) -> Value | None:
        """All conditions that hold here, as one mask."""
        if not self.conditions:
            return None
        return logical(ast.And(), self.conditions)

    @contextmanager
    def under(self, condition: Value) -> Iterator[None]:
        """Loads and stores inside happen only where `condition` holds."""
        self.conditions.append(condition)
        try:
            yield
        finally:
            self.conditions.pop()


class _Lane(Space):
    """The scalar code of one axis: its variable is `tl.arange`, all else is as outside."""

    def __init__(self, lowering: Lowering, axis: Axis) -> None:
        super().__init__(lowering)
        self.axis = axis

    def _name(self, tree: ast.expr, identifier: str) -> Value:
        if identifier == self.axis.variable:
            lanes = expr("tl.arange(0, length)", length=self.axis.length_tree)
            return Value(lanes, "int32")
        return super()._name(tree, identifier)


_INDEX_NODES = (
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.FloorDiv,
    ast.Mod,
    ast.Load,
)
