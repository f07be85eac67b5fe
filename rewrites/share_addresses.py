"""Compute equal offsets once, and outside of loops that do not change them.

before:
    def k(A, C, n):
        bx = tl.program_id(0)
        for k in range(n):
            offs_m = bx * 64 + tl.arange(0, 64)
            a = tl.load(A + offs_m)
        offs_m_1 = bx * 64 + tl.arange(0, 64)
        tl.store(C + offs_m_1, a)

after:
    def k(A, C, n):
        bx = tl.program_id(0)
        offs_m = bx * 64 + tl.arange(0, 64)
        for k in range(n):
            a = tl.load(A + offs_m)
        tl.store(C + offs_m, a)
"""

import ast
from collections import Counter

from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import blocks_of, kernels_of, names_in, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Share the `offs_…` that lowering made, and gather the kernels' assertions at their top."""
    for kernel in kernels_of(tree):
        sharing = _Sharing(kernel, facts)
        kernel.body = sharing.block(kernel.body)
        _Rename(sharing.renamed).visit(kernel)
        kernel.body = _with_assertions_first(kernel.body)
    return tree


PURE_CALLS = ("tl.arange", "tl.cdiv", "tl.minimum", "tl.maximum", "tl.where")


class _Sharing:
    def __init__(self, kernel: ast.FunctionDef, facts: Facts) -> None:
        self.facts = facts
        self.assigned = Counter(
            node.id
            for node in walk(kernel)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        # In its loop a counter does not change, and sibling loops may share it.
        for name, count in _counters(kernel).items():
            if count == self.assigned[name]:
                self.assigned[name] = 1
        self.renamed: dict[str, str] = {}
        # What is computed already, for each open block from the outermost in.
        self.available: list[dict[str, str]] = []
        # The names that are defined in each open block, and what is moved in front of a statement.
        self.defined: list[set[str]] = []
        self.moved: list[list[ast.stmt]] = []

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self.available.append({})
        self.defined.append(set())
        self.moved.append([])
        result: list[ast.stmt] = []
        for statement in body:
            kept = self.statement(statement)
            at = _before_remarks(result)
            result[at:at] = self.moved[-1]
            self.moved[-1].clear()
            if kept is not None:
                result.append(kept)
        self.available.pop()
        self.defined.pop()
        self.moved.pop()
        return result

    def statement(self, statement: ast.stmt) -> ast.stmt | None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if self._is_offset(
                target, value
            ):
                return self._offset(target, statement)
            case ast.For() | ast.While() | ast.If():
                for field in ("body", "orelse"):
                    block = getattr(statement, field)
                    if block:
                        inner = self._variables(statement)
                        setattr(statement, field, self._inner(block, inner))
        self.defined[-1] |= _stores(statement)
        return statement

    def _inner(self, body: list[ast.stmt], variables: set[str]) -> list[ast.stmt]:
        """A block inside a statement; its own variables are defined only there."""
        self.defined.append(variables)
        self.available.append({})
        self.moved.append([])
        result = self.block(body)
        result[:0] = self.moved[-1]
        self.defined.pop()
        self.available.pop()
        self.moved.pop()
        return result

    def _variables(self, statement: ast.stmt) -> set[str]:
        if isinstance(statement, ast.If):
            return set()
        changed = {
            name
            for block in blocks_of(statement)
            for inner in block
            for name in _stores(inner)
            if self.assigned[name] > 1
        }
        if isinstance(statement, ast.For):
            changed |= names_in(statement.target)
        return changed

    def _is_offset(self, target: str, value: ast.expr) -> bool:
        """Offsets are arithmetic that loads nothing; a tile of the user's may be called so too."""
        if target in self.facts.tiles or target in self.facts.variables:
            return False
        loads = any(
            isinstance(node, ast.Call) and ast.unparse(node.func) not in PURE_CALLS
            for node in walk(value)
        )
        return target.startswith("offs_") and self.assigned[target] == 1 and not loads

    def _offset(self, target: str, statement: ast.Assign) -> ast.stmt | None:
        _Rename(self.renamed).visit(statement.value)
        if any(self.assigned[name] > 1 for name in names_in(statement.value)):
            self.defined[-1].add(target)
            return statement
        key = ast.dump(statement.value)
        for known in self.available:
            if key in known:
                self.renamed[target] = known[key]
                return None
        level = self._level(names_in(statement.value))
        self.available[level][key] = target
        self.defined[level].add(target)
        if level == len(self.defined) - 1:
            return statement
        self.moved[level].append(statement)
        return None

    def _level(self, names: set[str]) -> int:
        """The outermost open block in which all of `names` are known and do not change."""
        for level in range(len(self.defined) - 1, -1, -1):
            if names & self.defined[level]:
                return level
        return 0


def _before_remarks(body: list[ast.stmt]) -> int:
    """Where a statement goes so that comments at the end stay with what they stand before."""
    at = len(body)
    while at and isinstance(body[at - 1], (Comment, Blank)):
        at -= 1
    return at


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node


def _counters(kernel: ast.FunctionDef) -> Counter[str]:
    """How many loops each name is the variable of."""
    return Counter(
        node.target.id
        for node in walk(kernel)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
    )


def _stores(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _with_assertions_first(body: list[ast.stmt]) -> list[ast.stmt]:
    """Each `tl.static_assert` once, before everything else."""
    assertions: dict[str, ast.stmt] = {}

    def without(block: list[ast.stmt]) -> list[ast.stmt]:
        rest = []
        for statement in block:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="static_assert"))):
                    assertions.setdefault(ast.unparse(statement), statement)
                    continue
                case ast.For() | ast.While() | ast.If():
                    for field in ("body", "orelse"):
                        setattr(statement, field, without(getattr(statement, field)))
            rest.append(statement)
        return rest

    rest = without(body)
    ones = {name for one in assertions.values() if (name := _one(one))}
    return [*(one for one in assertions.values() if _divisor(one) not in ones), *rest]


def _one(assertion: ast.stmt) -> str | None:
    """`n` of `tl.static_assert(n == 1)`."""
    match assertion:
        case ast.Expr(value=ast.Call(args=[ast.Compare(left=ast.Name(id=name)) as test])):
            match test:
                case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=1)]):
                    return name
    return None


def _divisor(assertion: ast.stmt) -> str | None:
    """`n` of `tl.static_assert(m % n == 0)`."""
    match assertion:
        case ast.Expr(
            value=ast.Call(
                args=[
                    ast.Compare(
                        left=ast.BinOp(op=ast.Mod(), right=ast.Name(id=name)),
                        ops=[ast.Eq()],
                        comparators=[ast.Constant(value=0)],
                    )
                ]
            )
        ):
            return name
    return None
