"""Which expression binds tighter, and the questions a formatter asks of an expression's shape."""

import ast

(
    WALRUS,
    LAMBDA,
    CONDITION,
    OR,
    AND,
    NOT,
    COMPARE,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    SHIFT,
    ADD,
    MULTIPLY,
    UNARY,
    POWER,
    MEMBER,
    ATOM,
) = range(17)

BINARY: dict[type[ast.operator], tuple[int, str]] = {
    ast.BitOr: (BIT_OR, "|"),
    ast.BitXor: (BIT_XOR, "^"),
    ast.BitAnd: (BIT_AND, "&"),
    ast.LShift: (SHIFT, "<<"),
    ast.RShift: (SHIFT, ">>"),
    ast.Add: (ADD, "+"),
    ast.Sub: (ADD, "-"),
    ast.Mult: (MULTIPLY, "*"),
    ast.MatMult: (MULTIPLY, "@"),
    ast.Div: (MULTIPLY, "/"),
    ast.FloorDiv: (MULTIPLY, "//"),
    ast.Mod: (MULTIPLY, "%"),
    ast.Pow: (POWER, "**"),
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
UNARY_OPERATORS: dict[type[ast.unaryop], tuple[int, str]] = {
    ast.Not: (NOT, "not "),
    ast.USub: (UNARY, "-"),
    ast.UAdd: (UNARY, "+"),
    ast.Invert: (UNARY, "~"),
}
FIXED: dict[type[ast.expr], int] = {
    ast.Compare: COMPARE,
    ast.IfExp: CONDITION,
    ast.Lambda: LAMBDA,
    ast.NamedExpr: WALRUS,
}


def precedence(node: ast.expr) -> int:
    """How tightly the outermost operator of `node` binds."""
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)][0]
    if isinstance(node, ast.UnaryOp):
        return UNARY_OPERATORS[type(node.op)][0]
    if isinstance(node, ast.BoolOp):
        return AND if isinstance(node.op, ast.And) else OR
    if isinstance(node, ast.Constant):
        return UNARY if isinstance(node.value, (int, float)) and node.value < 0 else ATOM
    return FIXED.get(type(node), ATOM)


def needs_brackets(node: ast.expr, least: int) -> bool:
    """Whether `node` needs parentheses where only what binds at least like `least` may stand."""
    return least > WALRUS and precedence(node) < least


def unary_level(node: ast.UnaryOp) -> int:
    """What binds less than this gets parentheses behind the sign `node`."""
    if isinstance(node.operand, ast.BinOp) and isinstance(node.operand.op, ast.Pow):
        # Formatters write `-(2**n)`, which says what `-2**n` means.
        return ATOM
    return precedence(node)


def is_simple_power_operand(node: ast.expr, least: int = WALRUS) -> bool:
    """Names, numbers, their members and signs: `x**2` has no spaces."""
    if needs_brackets(node, least):
        return False
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and is_simple_power_operand(node.operand)
    if isinstance(node, ast.Attribute):
        return is_simple_power_operand(node.value)
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (int, float, type(None)))
    )


def is_plain(node: ast.expr) -> bool:
    """Names, literals and their signs: `a[1:n]` has no spaces."""
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and is_plain(node.operand)
    return isinstance(node, (ast.Name, ast.Constant))


def is_fluent(node: ast.expr) -> bool:
    """Whether a chain of calls breaks before its dots: it has two after calls or subscripts."""
    dots = 0
    while True:
        if isinstance(node, ast.Attribute):
            bracketed = needs_brackets(node.value, ATOM)
            dots += bracketed or isinstance(node.value, (ast.Call, ast.Subscript))
            node = node.value
        elif isinstance(node, (ast.Call, ast.Subscript)):
            node = node.func if isinstance(node, ast.Call) else node.value
            bracketed = needs_brackets(node, ATOM)
        else:
            return dots >= 2
        if bracketed:
            return dots >= 2
