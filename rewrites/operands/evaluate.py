"""Read a program on whole operands: what each name of it is, and what it returns."""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewrites.dtypes import is_float
from rewrites.errors import RewriteError
from rewrites.facts import Facts
from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import Making, Operand, Whole
from rewrites.operands.views import sliced

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Pow: "**",
}
COMPARING = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass
class Reader:
    """Evaluates the trees of one program; `names` holds what its names are."""

    facts: Facts
    making: Making
    names: dict[str, Any] = field(default_factory=dict)

    def program(self, function: ast.FunctionDef) -> tuple[Whole, ...]:
        """What a function returns."""
        for name in self.facts.tensors:
            self.names[name] = self.tensor(name)
        return self._block(function.body)

    def _block(self, statements: list[ast.stmt]) -> tuple[Whole, ...]:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    made = self.value(value)
                    self.making.node = value
                    self.names[name] = self.making.renamed(made, name)
                case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=body):
                    outside = self.making.stages
                    self.making.stages = self.value(call.keywords[0].value)
                    self._block(body)
                    self.making.stages = outside
                case ast.Return(value=ast.Tuple(elts=items)):
                    return tuple(self.value(item) for item in items)
                case ast.Return(value=ast.expr() as value):
                    return (self.value(value),)
        return ()

    def tensor(self, name: str) -> Whole:
        """The operand that a tensor of the program is."""
        tensor = self.facts.tensors[name]
        shape = tuple(self.size(extent) for extent in tensor.shape)
        return self.making.tensor(name, shape, tensor.dtype)

    def size(self, tree: ast.expr) -> Size:
        """An extent: a number, or a named constant."""
        match tree:
            case ast.Constant(value=int() as value):
                return Size(value)
            case ast.Name(id=name):
                return Size(int(self.facts.constants[name]), name)
        raise AssertionError(f"no extent of a whole operand: {ast.unparse(tree)}")

    def value(self, tree: ast.expr) -> Any:
        """What a tree is: an operand, or what Python says of it."""
        making = self.making
        match tree:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name in self.names:
                    return self.names[name]
                constant = self.facts.constants[name]
                if type(constant) is not int:
                    return constant
                return Extent(constant, name, self.making.fixed)
            case ast.Tuple(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.UnaryOp(op=op, operand=inner):
                return self._unary(tree, op, self.value(inner))
            case ast.BinOp(left=left, op=op, right=right):
                operands = self.value(left), self.value(right)
                return self._at(tree, BINARY[type(op)], *operands)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                operands = self.value(left), self.value(right)
                return self._at(tree, COMPARING[type(op)], *operands)
            case ast.Subscript(value=base, slice=index):
                operand = self.value(base)
                indices = self._indices(index)
                making.node = tree
                # Of several results, one.
                picked = operand[indices[0]] if isinstance(operand, tuple) else None
                return sliced(making, operand, indices) if picked is None else picked
            case ast.Call(func=ast.Name(), args=[ast.Constant(value=str() as text)]):
                # Python has no literal for infinity: `float("inf")`.
                return float(text)
            case ast.Call(func=ast.Attribute(attr=name)):
                return self._called(tree, name)
        raise AssertionError(f"no expression of whole operands: {ast.unparse(tree)}")

    def _unary(self, tree: ast.expr, op: ast.unaryop, operand: Operand) -> Operand:
        if isinstance(op, ast.USub) and not isinstance(operand, Whole):
            return -operand
        self.making.node = tree
        return signed(self.making, "-x" if isinstance(op, ast.USub) else "~x", operand)

    def _at(self, tree: ast.expr, symbol: str, *operands: Operand) -> Operand:
        self.making.node = tree
        return arithmetic(self.making, symbol, *operands)

    def _indices(self, index: ast.expr) -> tuple[Any, ...]:
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        return tuple(self._index(item) for item in items)

    def _index(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Slice):
            parts = (tree.lower, tree.upper, tree.step)
            return slice(*(None if part is None else self.value(part) for part in parts))
        return self.value(tree)

    def _called(self, tree: ast.Call, name: str) -> Any:
        form: Any = self.facts.operators[name]
        arguments = [self.value(one) for one in tree.args]
        keywords = {one.arg: self.value(one.value) for one in tree.keywords if one.arg}
        self.making.node = tree
        return called(self.making, form, arguments, keywords)


def called(making: Making, form: Any, arguments: list[Any], keywords: Mapping[str, Any]) -> Any:
    """What an operator makes of whole operands."""
    if form.whole is not None:
        if not form.whole.takes_extents:
            arguments = [_plain(one) for one in arguments]
            keywords = {key: _plain(one) for key, one in keywords.items()}
        return form.whole.make(making, *arguments, **keywords)
    operands = form.signature.bind(*arguments, **keywords).args
    for operand in operands:
        check_operand(making, operand, f"T.{form.name}")
    return making.pointwise(f"T.{form.name}", *operands, dtype=_result(making, form, operands))


def _plain(value: Any) -> Any:
    """An argument of which the operator needs the value: an extent is then of this size."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return value.plain if isinstance(value, Extent) else value


def check_operand(making: Making, operand: Any, what: str) -> None:
    """An operand of an operation on elements is a whole one or a number."""
    if not isinstance(operand, (Whole, bool, int, float)):
        raise making.refuse(
            "T2T827",
            f"{what} of whole operands takes whole operands and numbers, not {operand!r}",
            hint="tensors that a kernel reads are its parameters",
        )


def _result(making: Making, form: Any, operands: Sequence[Operand]) -> str:
    if form.gives == "float":
        return making.promoted((*operands, 1.0))
    return str(form.gives)


def arithmetic(making: Making, symbol: str, *operands: Operand) -> Operand:
    """`left symbol right` of whole operands and numbers."""
    if not any(isinstance(operand, Whole) for operand in operands):
        number: Operand = _NUMBERS[symbol](*operands)
        return number
    if symbol == "**":
        return _power(making, *operands)
    dtype = "bool" if symbol in COMPARING.values() else ""
    if symbol == "-" and making.promoted(operands) == "bool":
        raise _no_difference(making)
    if symbol == "/":
        dtype = making.promoted((*operands, 1.0))
        # Of whole numbers, too, there are fractions.
        operands = tuple(
            making.cast(one, dtype) if isinstance(one, Whole) and not is_float(one.dtype) else one
            for one in operands
        )
    elif symbol == "//" and is_float(making.promoted(operands)):
        return making.pointwise("T.floor", arithmetic(making, "/", *operands))
    return making.pointwise(symbol, *operands, dtype=dtype)


def signed(making: Making, symbol: str, operand: Operand) -> Operand:
    """`-x` or `~x` of an operand."""
    if symbol == "-x" and isinstance(operand, Whole) and operand.dtype == "bool":
        raise _no_difference(making)
    return making.pointwise(symbol, operand)


def _no_difference(making: Making) -> RewriteError:
    return making.refuse(
        "T2T865",
        "truth values have no sign and no difference",
        hint='write ~x for not x, x ^ y where they differ, or count with x.to("int32")',
    )


def _power(making: Making, base: Operand, exponent: Operand) -> Operand:
    """A power; those of small whole numbers are products, and a half is a root."""
    if exponent == 0.5:
        return making.pointwise("T.sqrt", base, dtype=making.promoted((base, 1.0)))
    if exponent == -0.5:
        return making.pointwise("T.rsqrt", base, dtype=making.promoted((base, 1.0)))
    if exponent == -1:
        return arithmetic(making, "/", 1.0, base)
    if exponent in (1, 2, 3, 4) and not isinstance(exponent, Whole):
        dtype = making.promoted((base, exponent))
        square = making.pointwise("*", base, base, dtype=dtype)
        if exponent == 2:
            return square
        if exponent == 4:
            return making.pointwise("*", square, square)
        return base if exponent == 1 else making.pointwise("*", square, base)
    dtype = making.promoted((base, exponent, 1.0))
    return making.pointwise("T.pow", base, exponent, dtype=dtype)
