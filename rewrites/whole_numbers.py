"""Which trees are whole numbers of 32 or 64 bits, that no arithmetic wraps around."""

import ast

from rewrites.environment import Environment
from rewrites.facts import Facts
from rewrites.tree import base_name

_WIDE = ("int32", "int64")
_CALLS = ("min", "max", "ceildiv", "floordiv", "floormod")
_SIGNED = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


def is_whole(tree: ast.expr, environment: Environment, facts: Facts) -> bool:
    """Whether a tree is made of such numbers alone; `environment` has those that names hold."""
    match tree:
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.Name(id=identifier):
            value = facts.constants.get(identifier)
            if value is not None:
                return isinstance(value, int) and not isinstance(value, bool)
            return environment.dtypes.get(identifier) in _WIDE
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_whole(operand, environment, facts)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _SIGNED):
            return all(is_whole(one, environment, facts) for one in (left, right))
        case ast.Call(func=ast.Attribute(attr=called), args=args) if called in _CALLS:
            return all(is_whole(one, environment, facts) for one in args)
        case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[_, one, two]):
            return all(is_whole(arm, environment, facts) for arm in (one, two))
        case ast.Call(func=ast.Attribute(attr="cast"), args=[_, ast.Constant(value=dtype)]):
            return dtype in _WIDE
        case ast.Subscript():
            tensor = facts.tensors.get(base_name(tree) or "")
            return tensor is not None and tensor.dtype in _WIDE
    return False
