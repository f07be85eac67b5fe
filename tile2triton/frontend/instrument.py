"""Rewrite a kernel function so that executing it records its tile program.

before: `for k in range(n): x = A[k]`
after:  `for k in _t2t_.for_(_t2t_.range(n), ("k",), ()): … x = _t2t_.assign("x", A[k])`

Only statements and lazily evaluated expressions change; everything else is left to Python. The
tracer that the calls go to is the function's first parameter.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from typing import cast

from tile2triton.frontend.instrument_expressions import InstrumentExpressions
from tile2triton.frontend.liveness import assigned_names, carried_names, names_in
from tile2triton.frontend.remarks import Remarks, distribute
from tile2triton.frontend.tracer_calls import TRACER, at, call, constant, lazy
from tile2triton.source import Source


def instrument(source: Source) -> ast.Module:
    """The function with its statements replaced, as a module to compile."""
    # The tree of the source stays as it is: remarks are found by the identity of the copy's nodes.
    tree = copy.deepcopy(source.tree)
    arguments = tree.args
    given = [one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg)]
    remarks = distribute(replace(source, tree=tree))
    transformer = _Instrument(remarks, (*given, *assigned_names(tree.body)))
    plain = [ast.arg(one.arg) for one in (*arguments.posonlyargs, *arguments.args)]
    only = [ast.arg(one.arg) for one in arguments.kwonlyargs]
    rest, keywords = (
        None if one is None else ast.arg(one.arg) for one in (arguments.vararg, arguments.kwarg)
    )
    function = ast.FunctionDef(
        name=tree.name,
        args=ast.arguments(
            [], [ast.arg(TRACER), *plain], rest, only, [None] * len(only), keywords, []
        ),
        body=transformer.block(tree.body) or [ast.Pass()],
        decorator_list=[],
    )
    function.type_params = []  # type: ignore[attr-defined]
    ast.copy_location(function, source.tree)
    return ast.fix_missing_locations(ast.Module([function], []))


class _Instrument(InstrumentExpressions):
    def __init__(self, remarks: Remarks, local: tuple[str, ...]) -> None:
        self.remarks = remarks
        self.range_name = "" if "range" in local else "range"
        self.count = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            tokens = self.remarks.before.get(id(statement))
            if tokens:
                result.append(at(statement, ast.Expr(call("remark", constant(tuple(tokens))))))
            after = self.remarks.after.get(id(statement))
            result += self.statement(statement)
            if after:
                result.append(at(statement, ast.Expr(call("remark", constant(tuple(after))))))
        return result

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign():
                made = self.assign(node.targets, node.value)
            case ast.AnnAssign():
                made = self.annotated(node)
            case ast.AugAssign():
                made = self.augmented(node)
            case ast.If():
                made = self.branch(node)
            case ast.For():
                made = self.loop(node)
            case ast.While():
                made = self.repeat(node)
            case ast.With():
                made = self.scope(node)
            case ast.Return(value=ast.expr() as value):
                made = [ast.Return(call("returned", self.expression(value)))]
            case ast.Break() | ast.Continue() | ast.Return():
                word = type(node).__name__.lower()
                made = [ast.If(call("leave", ast.Constant(word)), [node], [])]
            case ast.Expr(value=ast.Constant()):
                made = []
            case ast.FunctionDef() | ast.Pass():
                made = [node]
            case _:
                made = [cast(ast.stmt, self.generic_visit(node))]
        return [at(node, one) for one in made]

    def assign(self, targets: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        first = targets[0]
        if len(targets) == 1 and not isinstance(first, (ast.Tuple, ast.List)):
            return [self.bind(first, self.expression(value))]
        whole = self.fresh("value")
        result: list[ast.stmt] = [
            ast.Assign([ast.Name(whole, ast.Store())], self.expression(value))
        ]
        for target in targets:
            if not isinstance(target, (ast.Tuple, ast.List)):
                result.append(self.bind(target, ast.Name(whole, ast.Load())))
                # A second target gets what the first was bound to, so that it is computed once.
                if isinstance(target, ast.Name):
                    result.append(
                        ast.Assign([ast.Name(whole, ast.Store())], ast.Name(target.id, ast.Load()))
                    )
            else:
                result += self.unpack(target, ast.Name(whole, ast.Load()))
        return result

    def unpack(self, target: ast.Tuple | ast.List, value: ast.expr) -> list[ast.stmt]:
        """`a, b = value` in two phases: everything is evaluated before anything is assigned."""
        leaves: list[tuple[ast.expr, str]] = []

        def temporary(node: ast.expr) -> ast.expr:
            if isinstance(node, (ast.Tuple, ast.List)):
                return ast.Tuple([temporary(item) for item in node.elts], ast.Store())
            if isinstance(node, ast.Starred):
                return ast.Starred(temporary(node.value), ast.Store())
            leaves.append((node, self.fresh("part")))
            return ast.Name(leaves[-1][1], ast.Store())

        result: list[ast.stmt] = [ast.Assign([temporary(target)], value)]
        wanted = [
            ast.Constant(leaf.id if isinstance(leaf, ast.Name) else None) for leaf, _ in leaves
        ]
        parts = [ast.Name(name, ast.Load()) for _, name in leaves]
        stores = ast.Tuple([ast.Name(name, ast.Store()) for _, name in leaves], ast.Store())
        result.append(
            ast.Assign([stores], call("evaluated", ast.Tuple([*wanted], ast.Load()), *parts))
        )
        result += [self.bind(leaf, ast.Name(name, ast.Load())) for leaf, name in leaves]
        return result

    def bind(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        match target:
            case ast.Name(id=name):
                return ast.Assign([target], call("assign", ast.Constant(name), value))
            case ast.Subscript():
                base, key = self.place_of(target)
                return ast.Expr(call("store", base, key, value))
            case ast.Attribute():
                owner = self.expression(target.value)
                return ast.Expr(call("set_attribute", owner, ast.Constant(target.attr), value))
            case ast.Starred():
                return self.bind(target.value, value)
        raise AssertionError(f"no target of an assignment: {ast.dump(target)}")

    def place_of(self, target: ast.Subscript) -> tuple[ast.expr, ast.expr]:
        """The base and the key of a subscript; slices become slice objects through `key[…]`."""
        key = ast.Subscript(
            ast.Attribute(ast.Name(TRACER, ast.Load()), "key", ast.Load()),
            self.expression(target.slice),
            ast.Load(),
        )
        return self.expression(target.value), key

    def annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        annotation = lazy(self.expression(node.annotation))
        if not isinstance(node.target, ast.Name):
            return [self.bind(node.target, self.expression(node.value))] if node.value else []
        name = ast.Constant(node.target.id)
        if node.value is None:
            made = call("declare", name, annotation)
        else:
            made = call("typed", name, annotation, self.expression(node.value))
        return [ast.Assign([node.target], made)]

    def augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        value = self.expression(node.value)
        operator = ast.Constant(type(node.op).__name__)
        match node.target:
            case ast.Name(id=name):
                old = ast.Name(name, ast.Load())
                made = call("augment", ast.Constant(name), old, operator, value)
                return [ast.Assign([node.target], made)]
            case ast.Subscript():
                base, key = self.place_of(node.target)
                return [ast.Expr(call("augment_item", base, key, operator, value))]
        owner = self.expression(node.target.value)
        attribute = ast.Constant(node.target.attr)
        return [ast.Expr(call("augment_attribute", owner, attribute, operator, value))]

    def branch(self, node: ast.If) -> list[ast.stmt]:
        choice = self.fresh("choice")
        used = constant(names_in(node.test))
        test = at(node.test, call("branch", self.expression(node.test), used))
        in_body, in_both = assigned_names(node.body), assigned_names([*node.body, *node.orelse])
        result: list[ast.stmt] = [
            ast.Assign([ast.Name(choice, ast.Store())], test),
            ast.If(_on(choice, "then"), self.block(node.body) or [ast.Pass()], []),
        ]
        if node.orelse:
            body = [*_refresh(in_body), *self.block(node.orelse)]
            result.append(ast.If(_on(choice, "otherwise"), body, []))
        return [*result, ast.Expr(_on(choice, "end")), *_refresh(in_both)]

    def loop(self, node: ast.For) -> list[ast.stmt]:
        names = assigned_names([node])
        targets = _target_names(node.target)
        shown: ast.expr = ast.Constant(None) if targets is None else targets
        carried = carried_names(node.body)
        iterable = call("for_", self.expression(node.iter), shown, constant(carried))
        # A loop over tiles gives what it carries a meaning of its own.
        body = [*_notes(node.target), *_refresh(carried), *self.block(node.body)]
        made = ast.For(node.target, iterable, body or [ast.Pass()], [])
        made.type_comment = None
        return [made, *_refresh(names)]

    def repeat(self, node: ast.While) -> list[ast.stmt]:
        names = assigned_names(node.body)
        carried = constant(carried_names([ast.Expr(node.test), *node.body]))
        iterable = call("while_", lazy(self.expression(node.test)), carried)
        body = self.block(node.body) or [ast.Pass()]
        made = ast.For(ast.Name(self.fresh("turn"), ast.Store()), iterable, body, [])
        made.type_comment = None
        return [made, *_refresh(names)]

    def scope(self, node: ast.With) -> list[ast.stmt]:
        names = assigned_names([node])
        items, notes = [], []
        for item in node.items:
            target = item.optional_vars
            shown = _target_names(target) if target is not None else None
            context = call("with_", self.expression(item.context_expr), shown or ast.Constant(None))
            items.append(ast.withitem(context, target))
            notes += _notes(target) if target is not None else []
        made = ast.With(items, [*notes, *self.block(node.body)])
        made.type_comment = None
        return [made, *_refresh(names)]

    def fresh(self, purpose: str) -> str:
        self.count += 1
        return f"{TRACER}{purpose}_{self.count}"


def _on(choice: str, method: str) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(choice, ast.Load()), method, ast.Load()), [], [])


def _refresh(names: tuple[str, ...]) -> list[ast.stmt]:
    """After a block, each name that it assigned gets the value it has outside of the block."""
    return [
        ast.Assign([ast.Name(name, ast.Store())], call("current", ast.Constant(name)))
        for name in names
    ]


def _notes(target: ast.expr) -> list[ast.stmt]:
    """Tell the tracer what Python itself assigns: the targets of loops and `with`."""
    return [
        ast.Expr(call("note", ast.Constant(node.id), ast.Name(node.id, ast.Load())))
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    ]


def _target_names(target: ast.expr) -> ast.expr | None:
    """The names of a target as a constant: one string, or a tuple of strings."""
    match target:
        case ast.Name(id=name):
            return ast.Constant(name)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            if all(isinstance(element, ast.Name) for element in elements):
                return constant(tuple(cast(ast.Name, one).id for one in elements))
    return None
