"""Random expressions and statements as trees, for tests of the printer."""

import ast
import random

NAMES = (
    "a bx offs_m acc block_M tl q_pointer A_shared_tile some_longer_name_here stride_of_batch"
).split()
BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitAnd)
BINARY += (ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Pow, ast.MatMult, ast.Add, ast.Mult)
COMPARISONS = (ast.Lt, ast.LtE, ast.Eq, ast.NotEq, ast.Gt, ast.GtE, ast.In, ast.IsNot)
CONSTANTS = (0, 1, 7, 128, 1.5, 1e-05, 1e30, "float16", 'it"s', True, None)


class Trees:
    """Trees that Python's own parser could have made."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> ast.expr:
        return ast.Name(self.random.choice(NAMES), ast.Load())

    def some(self, depth: int, least: int, most: int) -> list[ast.expr]:
        return [self.expression(depth) for _ in range(self.random.randint(least, most))]

    def head(self, depth: int) -> ast.expr:
        """Something that has members: anything but a number."""
        value = self.expression(depth)
        return self.name() if isinstance(value, ast.Constant) else value

    def expression(self, depth: int) -> ast.expr:
        if depth <= 0 or self.random.random() < 0.05:
            is_name = self.random.random() < 0.6
            return self.name() if is_name else ast.Constant(self.random.choice(CONSTANTS))
        kinds = "binary binary compare boolean unary call call call index index"
        kinds += " choice display member"
        return getattr(self, self.random.choice(kinds.split()))(depth - 1)

    def binary(self, depth: int) -> ast.expr:
        operator = self.random.choice(BINARY)()
        return ast.BinOp(self.expression(depth), operator, self.expression(depth - 1))

    def compare(self, depth: int) -> ast.expr:
        right = self.some(depth, 1, 2)
        operators = [self.random.choice(COMPARISONS)() for _ in right]
        return ast.Compare(self.expression(depth), operators, right)

    def boolean(self, depth: int) -> ast.expr:
        return ast.BoolOp(self.random.choice((ast.And, ast.Or))(), self.some(depth, 2, 4))

    def unary(self, depth: int) -> ast.expr:
        operator = self.random.choice((ast.USub, ast.Not, ast.Invert))()
        return ast.UnaryOp(operator, self.expression(depth))

    def call(self, depth: int) -> ast.expr:
        function = self.name() if self.random.random() < 0.3 else self.member(depth - 1)
        keywords = [
            ast.keyword(self.random.choice(NAMES) + str(index), value)
            for index, value in enumerate(self.some(depth, 0, 3))
        ]
        return ast.Call(function, self.some(depth, 0, 4), keywords)

    def index(self, depth: int) -> ast.expr:
        items = [self.index_item(depth) for _ in range(self.random.randint(1, 3))]
        index = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
        return ast.Subscript(self.head(depth), index, ast.Load())

    def index_item(self, depth: int) -> ast.expr:
        kind = self.random.randint(0, 4)
        if kind == 0:
            return ast.Constant(None)
        if kind <= 2:
            bounds = [self.expression(depth) if self.random.random() < 0.5 else None for _ in "123"]
            return ast.Slice(*bounds)
        return self.expression(depth)

    def choice(self, depth: int) -> ast.expr:
        return ast.IfExp(*self.some(depth, 3, 3))

    def display(self, depth: int) -> ast.expr:
        values = self.some(depth, 0, 3)
        if self.random.random() < 0.3:
            return ast.Dict([ast.Constant(f"key_{i}") for i in range(len(values))], values)
        return self.random.choice((ast.Tuple, ast.List))(values, ast.Load())

    def member(self, depth: int) -> ast.expr:
        return ast.Attribute(self.head(depth), self.random.choice(NAMES), ast.Load())

    def statement(self, depth: int, nesting: int = 0) -> ast.stmt:
        kinds = "assign assign update store unpack call leave"
        if nesting < 3:
            kinds += " branch loop repeat block"
        value = self.expression(depth)
        body = [self.statement(depth, nesting + 1)] if nesting < 3 else []
        match self.random.choice(kinds.split()):
            case "assign":
                return ast.Assign([self.name()], value)
            case "update":
                return ast.AugAssign(self.name(), self.random.choice(BINARY)(), value)
            case "store":
                items = ast.Tuple([self.name(), self.expression(1)], ast.Load())
                return ast.Assign([ast.Subscript(self.name(), items, ast.Store())], value)
            case "unpack":
                return ast.Assign([ast.Tuple([self.name(), self.name()], ast.Store())], value)
            case "call":
                return ast.Expr(self.call(depth))
            case "leave":
                return ast.Return(value)
            case "branch":
                return ast.If(value, body, [self.statement(depth, 3)])
            case "loop":
                return ast.For(self.name(), value, body, [])
            case "repeat":
                return ast.While(value, body, [])
            case _:
                pair = ast.Tuple([self.name(), self.name()], ast.Store())
                kernel = ast.Attribute(ast.Name("T", ast.Load()), "Kernel", ast.Load())
                call = ast.Call(kernel, self.some(depth, 1, 3), [])
                return ast.With([ast.withitem(call, pair)], body)

    def function(self, name: str, depth: int) -> ast.FunctionDef:
        arguments = [
            ast.arg(f"argument_{index}", self.random.choice((None, ast.Name("int", ast.Load()))))
            for index in range(self.random.randint(0, 9))
        ]
        return ast.FunctionDef(
            name=name,
            args=ast.arguments([], arguments, None, [], [], None, []),
            body=[self.statement(self.random.randint(1, depth)) for _ in range(6)],
            decorator_list=[ast.Name("jit", ast.Load())] * self.random.randint(0, 1),
            type_params=[],
        )
