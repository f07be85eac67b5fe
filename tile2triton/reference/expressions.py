"""Evaluate an expression of a tile program, with TileLang's types."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from rewrites import dtypes
from tile2triton.reference.errors import UnsupportedError
from tile2triton.reference.state import State
from tile2triton.reference.values import Value, cast, common, compute, dtype_of, typed

_ARITHMETIC: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
}
_BITS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


def evaluate(tree: ast.expr, state: State) -> Value:
    """The typed value of an expression; inside T.Parallel an array over the iterations."""
    static = state.statics.get(id(tree))
    if static is not None:
        return typed(static)
    match tree:
        case ast.Constant(value=value):
            return typed(value)
        case ast.Name(id=name):
            if name not in state.names:
                raise UnsupportedError(tree, f"`{name}` has no value here.")
            return state.names[name]
        case ast.Subscript():
            return load(tree, state)
        case ast.BinOp(left=left, op=op, right=right):
            return binary(op, evaluate(left, state), evaluate(right, state), tree)
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(op, evaluate(operand, state))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            sides = common(evaluate(left, state), evaluate(right, state))
            return _COMPARISONS[type(op)](*sides)
        case ast.BoolOp(op=op, values=values):
            return _connected(op, values, state)
        case ast.Call(func=ast.Attribute(attr=name)):
            return _called(tree, name, state)
    raise UnsupportedError(tree, f"`{ast.unparse(tree)}` has no meaning in a tile program.")


def binary(op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """The result of an operator between two typed values."""
    left, right = common(left, right)
    dtype = dtype_of(left)
    if type(op) in _BITS:
        return compute(_BITS[type(op)], left, right)
    if type(op) not in _ARITHMETIC:
        raise UnsupportedError(node, f"`{ast.unparse(node)}` has no meaning in a tile program.")
    if isinstance(op, ast.Div) and dtypes.is_integer(dtype):
        raise UnsupportedError(
            node,
            f"`{ast.unparse(node)}` divides integers with `/`. Write `//` for the quotient "
            "rounded down, or cast one of them to float32.",
        )
    # A difference or sum of truth values is a number.
    dtype = dtypes.promoted(dtype, dtype)
    return compute(_ARITHMETIC[type(op)], cast(left, dtype), cast(right, dtype))


def evaluate_exactly(tree: ast.expr, state: State) -> Value:
    """The value of an expression that is about to be cast: 0.1 is not rounded to float32 first."""
    static = state.statics.get(id(tree))
    return np.float64(static) if isinstance(static, float) else evaluate(tree, state)


def truth(value: Value) -> Value:
    """A value as a condition."""
    return cast(value, "bool")


def load(tree: ast.Subscript, state: State) -> Value:
    """One element, or in T.Parallel one for each iteration."""
    memory = state.memory(ast.unparse(tree.value), tree)
    indices, fixed = element_indices(tree, state)
    return memory.load(indices, fixed, state.mask, state.safe_value(memory.name), tree)


def element_indices(tree: ast.Subscript, state: State) -> tuple[list[Value], list[bool]]:
    """The values of the indices, and which of them are constants."""
    parts = list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    rank = state.memory(ast.unparse(tree.value), tree).array.ndim
    if len(parts) != rank or any(isinstance(part, ast.Slice) for part in parts):
        raise UnsupportedError(
            tree,
            f"`{ast.unparse(tree)}` is no element: `{ast.unparse(tree.value)}` has {rank} "
            "dimensions.",
        )
    return [evaluate(part, state) for part in parts], [id(part) in state.statics for part in parts]


def _unary(op: ast.unaryop, value: Value) -> Value:
    if isinstance(op, ast.Not):
        return np.logical_not(truth(value))
    if isinstance(op, ast.UAdd):
        return value
    if isinstance(op, ast.USub):
        dtype = dtype_of(value)
        return compute(np.negative, cast(value, dtypes.promoted(dtype, dtype)))
    return compute(np.invert, value)


def _connected(op: ast.boolop, trees: list[ast.expr], state: State) -> Value:
    """`and` and `or`: what stands later is evaluated only where it still matters."""
    result = truth(evaluate(trees[0], state))
    for tree in trees[1:]:
        open_cases = result if isinstance(op, ast.And) else np.logical_not(result)
        if not bool(np.any(open_cases)):
            return result
        with state.where(open_cases):
            value = truth(evaluate(tree, state))
        combined = np.logical_and if isinstance(op, ast.And) else np.logical_or
        result = combined(result, value)
    return result


def _called(call: ast.Call, name: str, state: State) -> Value:
    operator: Any = state.facts.operators.get(name)
    if operator is None or operator.reference is None:
        raise UnsupportedError(call, f"T.{name} has no value.")
    if operator.kind == "statement" or operator.takes_regions or operator.takes_state:
        # An operator that acts and returns, such as T.atomic_add(…, return_prev=True). Operands
        # evaluate their indices with this module, so they are imported late.
        from tile2triton.reference.operands import apply

        return apply(call, operator, state)
    if operator.name == "if_then_else":
        return _chosen(call, operator, state)
    read = _cast_argument if operator.name in ("cast", "Cast") else _argument
    values = [read(tree, state) for tree in call.args]
    options = {str(word.arg): read(word.value, state) for word in call.keywords}
    try:
        return operator.reference(*values, **options)
    except TypeError as error:
        raise UnsupportedError(call, f"`{ast.unparse(call)}`: {error}.") from error


def _chosen(call: ast.Call, operator: Any, state: State) -> Value:
    """One of two values; each is evaluated only where it is taken."""
    trees = operator.arguments(call)
    condition = truth(evaluate(trees["cond"], state))
    with state.where(condition):
        left = evaluate(trees["t"], state)
    with state.where(np.logical_not(condition)):
        right = evaluate(trees["f"], state)
    return operator.reference(condition, left, right)


def _argument(tree: ast.expr, state: State) -> Any:
    if isinstance(tree, ast.Constant) and (tree.value is None or isinstance(tree.value, str)):
        return tree.value
    return evaluate(tree, state)


def _cast_argument(tree: ast.expr, state: State) -> Any:
    if isinstance(tree, ast.Constant) and not isinstance(tree.value, float):
        return _argument(tree, state)
    return evaluate_exactly(tree, state)
