"""Find the integer variables that are never negative: their `//`, `%` and bounds are simpler.

`tile = T.alloc_var("int32", bx)` with `tile = tile + 132` is one: its first value is not negative,
and every store keeps it so as long as the others are not negative either.
"""

import ast

from rewrites.dtypes import BY_NAME
from rewrites.environment import Environment, environment_of
from rewrites.facts import Facts
from rewrites.ranges import NATURAL
from rewrites.tree import blocks_of, names_in, walk


def natural_variables(function: ast.FunctionDef, facts: Facts) -> frozenset[str]:
    """The variables that hold no negative number, by induction over all stores."""
    natural = {
        variable
        for variable, dtype in facts.variables.items()
        if BY_NAME[dtype].kind in ("int", "uint")
    }
    while natural:
        refuted = _Stores(facts, natural).refuted(function.body)
        if not refuted:
            break
        natural -= refuted
    return frozenset(natural)


class _Stores:
    """Visits the stores in program order, with the ranges of loop variables and lets."""

    def __init__(self, facts: Facts, natural: set[str]) -> None:
        self.facts = facts
        self.environment: Environment = environment_of(facts)
        self.environment.ranges.update(dict.fromkeys(natural, NATURAL))
        self.natural = natural
        self.found: set[str] = set()

    def refuted(self, body: list[ast.stmt]) -> set[str]:
        """The variables that some store might make negative."""
        for statement in body:
            self._statement(statement)
        return self.found

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.With(
                items=[ast.withitem(context_expr=ast.Call(args=extents), optional_vars=v)]
            ):
                self._counters(v, [(ast.Constant(0), extent) for extent in extents])
            case ast.For(target=target, iter=ast.Call(func=ast.Attribute(attr=name)) as call):
                arguments = self.facts.operators[name].arguments(call)
                extents_tree = arguments.get("extents")
                if isinstance(extents_tree, ast.Tuple):
                    self._counters(target, [(ast.Constant(0), e) for e in extents_tree.elts])
                else:
                    self._loop(target, arguments)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
        self._written_by_operators(statement)
        for block in blocks_of(statement):
            self.refuted(block)

    def _loop(self, target: ast.expr, arguments: dict[str, ast.expr]) -> None:
        start, stop = arguments["start"], arguments["stop"]
        if isinstance(stop, ast.Constant) and stop.value is None:
            start, stop = ast.Constant(0), start
        step = self.environment.range(arguments.get("step") or ast.Constant(1))
        falls = step.low is not None and step.low < 0
        # Downwards the variable stays above `stop`, which -1 or more keeps natural.
        first = ast.BinOp(stop, ast.Add(), ast.Constant(1)) if falls else start
        self._counters(target, [(first, start if falls else stop)])

    def _counters(self, target: ast.expr | None, bounds: list[tuple[ast.expr, ast.expr]]) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        for one, (start, stop) in zip(targets, bounds, strict=False):
            if isinstance(one, ast.Name):
                self.environment.add_counter(one.id, start, stop, 1)

    def _assign(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Call(func=ast.Attribute(attr=function)) if (
                self.facts.operators[function].kind == "allocation"
            ):
                if name not in self.facts.variables:
                    return
                value = self.facts.operators[function].arguments(value)["init"]
        if name not in self.facts.variables:
            self.environment.ranges[name] = self.environment.range(value)
        elif name in self.natural and not self._fits(name, value):
            self.found.add(name)

    def _fits(self, name: str, value: ast.expr) -> bool:
        """Whether the value is not negative and the variable does not wrap it."""
        row = BY_NAME[self.facts.variables[name]]
        if row.kind == "uint":
            return True
        return row.bits >= 32 and self.environment.range(value).is_natural and self._is_slow(value)

    def _is_slow(self, value: ast.expr) -> bool:
        """Whether nothing multiplies a variable without bound, which soon wraps to below 0."""
        for node in walk(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.LShift)):
                grows = bool(names_in(node) & self.facts.variables.keys())
                high = self.environment.range(node).high
                if grows and (high is None or high >= 2**31):
                    return False
        return True

    def _written_by_operators(self, statement: ast.stmt) -> None:
        """A variable that an operator fills may get any value."""
        for node in walk(statement) if isinstance(statement, ast.Expr) else ():
            if isinstance(node, ast.Name) and node.id in self.natural:
                self.found.add(node.id)
