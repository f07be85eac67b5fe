"""Which tensor a statement of an emitted kernel reads or writes."""

import ast


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
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments) if (
                name.startswith(("load", "store", "atomic"))
            ):
                is_pointer = isinstance(owner, ast.Name) and owner.id == "tl" and arguments
                return _first_name(arguments[0] if is_pointer else owner).removesuffix("_desc")
    return ""


def _first_name(tree: ast.expr) -> str:
    """The pointer that a sum of it and offsets begins with."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left):
            return _first_name(left)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl")), args=[first, *_]):
            return _first_name(first)
        case ast.Call(func=ast.Attribute(value=owner)):
            return _first_name(owner)
    return ""
