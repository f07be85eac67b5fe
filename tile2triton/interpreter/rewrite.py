"""Rewrite a kernel's function so that Python runs it as Triton's compiler reads it."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any


def rewritten(fn: FunctionType, names: dict[str, Any]) -> Callable[..., Any]:
    """`fn` compiled anew, with its meaning in Triton and its positions in the user's file.

    Assignments make scalars, conditions are asked, `and` and `or` compute all, lists are tuples.
    After branches and loops, what they assigned to must be of the types that it was of before.
    """
    lines, first = inspect.getsourcelines(fn)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, first - 1)
    tree = ast.fix_missing_locations(_Rewriter().visit(tree))
    exec(compile(tree, inspect.getsourcefile(fn) or "<kernel>", "exec"), names)
    made: Any = names[fn.__name__]
    static = names["__static__"]
    made.__defaults__ = static(fn.__defaults__)
    made.__kwdefaults__ = {name: static(value) for name, value in (fn.__kwdefaults__ or {}).items()}
    return made  # type: ignore[no-any-return]


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        # How many blocks keep the types that names had before them.
        self.blocks = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list = []
        node.returns = None
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            argument.annotation = None
        # The values come from the function itself; the trees only mark which have one.
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [
            None if default is None else ast.Constant(None) for default in arguments.kw_defaults
        ]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = _call("__assigned__", node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        static = ast.unparse(node.annotation).rpartition(".")[2] == "constexpr"
        value = _call("__static__" if static else "__assigned__", node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.target, ast.Name), "Triton assigns to names only"
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = ast.copy_location(ast.BinOp(old, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], _call("__assigned__", value)), node)

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        condition = f"__condition{self.blocks}__"
        asked = ast.copy_location(ast.Assign([ast.Name(condition, ast.Store())], node.test), node)
        body = self._typed(node, ast.Name(condition, ast.Load()))
        asked.value = self.visit(asked.value)
        node.test = ast.copy_location(
            _call("__truth__", ast.copy_location(ast.Name(condition, ast.Load()), node.test)), node
        )
        return [asked, *body]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        body = self._typed(node)
        node.test = _call("__truth__", self.visit(node.test))
        return body

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        if "static_range" in ast.unparse(node.iter):
            self.generic_visit(node)
            return [node]
        body = self._typed(node)
        node.iter = self.visit(node.iter)
        return body

    def _typed(
        self, node: ast.If | ast.While | ast.For, condition: ast.expr | None = None
    ) -> list[ast.stmt]:
        """The block with a note of types before it, and a comparison with them behind it."""
        before = f"__types{self.blocks}__"
        self.blocks += 1
        names = _assigned_in(node)
        for field in ("body", "orelse"):
            block = [self.visit(statement) for statement in getattr(node, field)]
            setattr(node, field, _flat(block))
        template = f"{before} = __types__(locals(), {names!r}, CONDITION)"
        note, check = ast.parse(f"{template}\n__same_types__({before}, locals())").body
        assert isinstance(note, ast.Assign) and isinstance(note.value, ast.Call)
        note.value.args[2] = condition or ast.Constant(None)
        for made in (note, check):
            for part in ast.walk(made):
                ast.copy_location(part, node)
        return [note, node, check]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._ask(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        message = () if node.msg is None else (node.msg,)
        return ast.copy_location(ast.Expr(_call("__checked__", node.test, *message)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "__all_of__" if isinstance(node.op, ast.And) else "__any_of__"
        later = [ast.copy_location(ast.Lambda(_NO_ARGUMENTS, value), node) for value in node.values]
        return ast.copy_location(_call(name, *later), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("__negated__", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) > 1:
            raise NotImplementedError("a chain of comparisons such as `a < b < c` in a kernel")
        return self.generic_visit(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Tuple(node.elts, node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _call("__static__", node) if node.attr in ("shape", "numel") else node

    def _ask(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _call("__truth__", node.test)
        return node


def _flat(statements: list[Any]) -> list[ast.stmt]:
    """Each statement, where some have become several."""
    return [s for one in statements for s in (one if isinstance(one, list) else [one])]


def _assigned_in(block: ast.AST) -> tuple[str, ...]:
    """The names that a block assigns to, in order of their names."""
    names = (node for node in ast.walk(block) if isinstance(node, ast.Name))
    return tuple(sorted({node.id for node in names if isinstance(node.ctx, ast.Store)}))


_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    function = ast.copy_location(ast.Name(name, ast.Load()), arguments[0])
    return ast.copy_location(ast.Call(function, list(arguments), []), arguments[0])
