"""Which tensor a statement of an emitted kernel reads or writes."""

import ast
import re

# What the languages of Triton are called in emitted modules.
_MODULES = ("tl", "gl")
# Which argument of these names the tensor.
_OF_GLUON = {
    "load_tile": 0,
    "store_tile": 0,
    "buffer_load": 0,
    "buffer_load_to_shared": 1,
    "buffer_store": 1,
}


def statements(text: str) -> dict[int, ast.stmt]:
    """The simple statement that each line is of."""
    return {
        line: node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Assign, ast.Expr))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def accessed(statement: ast.stmt) -> str:
    """The tensor that a statement of the emitted kernel loads from or stores to."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called), args=arguments
            ) if called in _OF_GLUON:
                return tensor_of(_first_name(arguments[_OF_GLUON[called]]))
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments) if (
                name.startswith(("load", "store", "atomic"))
            ):
                is_pointer = isinstance(owner, ast.Name) and owner.id in _MODULES and arguments
                return tensor_of(_first_name(arguments[0] if is_pointer else owner))
    return ""


def tensor_of(name: str) -> str:
    """The tensor of a TMA descriptor; other names are tensors themselves."""
    return re.sub(r"_desc(_\d+)?$", "", name)


def _first_name(tree: ast.expr) -> str:
    """The pointer that a sum of it and offsets begins with."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left):
            return _first_name(left)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module)), args=[first, *_]) if (
            module in _MODULES
        ):
            return _first_name(first)
        case ast.Call(func=ast.Attribute(value=owner)):
            return _first_name(owner)
    return ""
