"""The reference meaning of programs on whole operands: each operation on whole arrays.

Floats are computed in float64 and rounded where they are stored, so that no order of sums and no
place of a rounding is preferred.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.evaluate import BINARY, COMPARISONS, UNARY, evaluate
from rewrites.facts import Facts
from tile2triton.reference.elements import elements
from tile2triton.reference.values import cast, numpy_dtype

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **BINARY,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def run_whole(
    function: ast.FunctionDef, facts: Facts, arrays: dict[str, Any]
) -> tuple[np.ndarray[Any, Any], ...]:
    """What a program on whole operands stores, in the order of `Facts.stored`."""
    names = {name: _widened(array) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        returned = _block(function.body, facts, {**facts.constants, **names})
    return tuple(
        _stored(value, facts, name) for name, value in zip(facts.stored, returned, strict=True)
    )


def _stored(value: Any, facts: Facts, name: str) -> np.ndarray[Any, Any]:
    tensor = facts.tensors[name]
    shape = tuple(int(evaluate(extent, {}, facts)) for extent in tensor.shape)
    whole = np.broadcast_to(np.asarray(value), shape)
    made: np.ndarray[Any, Any] = np.array(cast(whole, tensor.dtype), order="C")
    return made.astype(numpy_dtype(tensor.dtype), copy=False)


def _widened(array: Any) -> Any:
    return array.astype(np.float64) if is_float(array.dtype.name) else array


def _block(statements: list[ast.stmt], facts: Facts, names: dict[str, Any]) -> tuple[Any, ...]:
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = _value(value, facts, names)
            case ast.With(body=body):
                _block(body, facts, names)
            case ast.Return(value=ast.Tuple(elts=items)):
                return tuple(_value(item, facts, names) for item in items)
            case ast.Return(value=ast.expr() as value):
                return (_value(value, facts, names),)
    return ()


def _value(tree: ast.expr, facts: Facts, names: dict[str, Any]) -> Any:
    def value(part: ast.expr) -> Any:
        return _value(part, facts, names)

    match tree:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return names[name]
        case ast.Tuple(elts=items):
            return tuple(value(item) for item in items)
        case ast.UnaryOp(op=op, operand=inner):
            return UNARY[type(op)](value(inner))
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](value(left), value(right))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return COMPARISONS[type(sign)](value(left), value(right))
        case ast.Subscript(value=base, slice=index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return _picked(value(base), tuple(_index(item, value) for item in items))
        case ast.Call(func=ast.Name(), args=[ast.Constant(value=text)]):
            return float(text)  # type: ignore[arg-type]
        case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=keywords):
            form: Any = facts.operators[name]
            arguments = [value(one) for one in args]
            options = {one.arg: value(one.value) for one in keywords if one.arg}
            if form.whole is not None:
                return form.whole.reference(*arguments, **options)
            return form.reference(*_of_one_type(arguments))
    raise AssertionError(f"no expression of whole operands: {ast.unparse(tree)}")


def _of_one_type(arguments: list[Any]) -> list[Any]:
    """The operands of an operator of elements, integers of several types as one that holds all."""
    dtypes = {one.dtype for one in arguments if isinstance(one, np.ndarray)}
    arrays = [np.asarray(one) for one in arguments]
    if len(dtypes) < 2 or not all(dtype.kind in "biu" for dtype in dtypes):
        return arrays
    common = np.result_type(*dtypes)
    return [
        array.astype(common) if isinstance(one, np.ndarray) else array
        for one, array in zip(arguments, arrays, strict=True)
    ]


def _picked(operand: Any, indices: tuple[Any, ...]) -> Any:
    """One of several results, or a part of an array; outside of it there are zeros."""
    if isinstance(operand, tuple):
        return operand[indices[0]]
    return elements(operand, indices)


def _index(tree: ast.expr, value: Callable[[ast.expr], Any]) -> Any:
    if isinstance(tree, ast.Slice):
        parts = (tree.lower, tree.upper, tree.step)
        return slice(*(None if part is None else value(part) for part in parts))
    return value(tree)
