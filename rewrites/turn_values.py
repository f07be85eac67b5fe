"""What tiles and variables hold after one turn of a loop, in terms of what it found in them.

Each branch that a turn may take has values of its own. What depends on carried values in a way that
the terms cannot say is unknown, and what cannot be followed at all raises `NotFollowedError`.
"""

import ast
from collections.abc import Mapping

from rewrites import carried_terms as terms
from rewrites.carried_terms import FREE, Element, Value
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import base_name, index_list, is_view, names_in
from rewrites.turn_expressions import Expressions, Values
from rewrites.turn_operators import follow

PATHS = 32


class NotFollowedError(Exception):
    """A statement that a part of a loop cannot do by itself."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


class Turn(Expressions):
    """Follows the statements of a loop's body.

    `carried` are the tiles and variables that the loop writes; all others are as before it.
    """

    def __init__(self, carried: set[str], scalars: set[str], facts: Facts) -> None:
        super().__init__(scalars, facts)
        self.carried = carried

    def paths(self, body: list[ast.stmt]) -> list[Values]:
        """The values after each way through the body."""
        return self._block(body, [{name: self._initial(name) for name in self.carried}])

    def _initial(self, name: str) -> Value:
        tile = self.facts.tiles.get(name)
        return terms.element(Element(name, () if tile is None else terms.places(tile.shape)))

    # Statements.

    def _block(self, body: list[ast.stmt], paths: list[Values]) -> list[Values]:
        for statement in body:
            paths = [after for values in paths for after in self._statement(statement, values)]
            if len(paths) > PATHS:
                raise NotFollowedError(statement, "there are too many ways through it")
        return paths

    def _statement(self, statement: ast.stmt, values: Values) -> list[Values]:
        match statement:
            case Comment() | Blank() | ast.Pass():
                return [values]
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
                return [self._lanes(statement, dict(values))]
            case ast.For(iter=header, target=ast.Name(id=counter), body=body):
                self._need_free(header, values, statement)
                return self._inner_loop(statement, counter, body, values)
            case ast.If(test=test, body=body, orelse=orelse):
                self._need_free(test, values, statement)
                return [
                    *self._block(body, [dict(values)]),
                    *self._block(orelse, [dict(values)]),
                ]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
                after = dict(values)
                self._operator(function, call, after)
                return [after]
            case ast.Assign() | ast.AugAssign():
                after = dict(values)
                self._assign(statement, {}, False, after)
                return [after]
        raise NotFollowedError(statement, "it holds a statement whose turns cannot be told apart")

    def _inner_loop(
        self, loop: ast.stmt, counter: str, body: list[ast.stmt], values: Values
    ) -> list[Values]:
        """A loop inside, after which all is as after one turn of it, or as before."""
        values = {**values, counter: FREE}
        once = [_many(after) for after in self._block(body, [dict(values)])]
        for after in once:
            for again in self._block(body, [dict(after)]):
                self._need_same(after, again, loop)
        return [values, *once]

    def _need_same(self, once: Values, again: Values, loop: ast.AST) -> None:
        """A second turn of an inner loop must leave what the first one left."""
        again = _many(again)
        if any(again[name] != value for name, value in once.items()):
            raise NotFollowedError(loop, "what it carries changes with every turn of an inner loop")

    def _need_free(self, tree: ast.AST, values: Values, node: ast.AST) -> None:
        if any(not terms.is_free(values.get(name, FREE)) for name in names_in(tree)):
            raise NotFollowedError(node, "what it does depends on values of the turn before")

    # T.Parallel.

    def _lanes(self, loop: ast.For, values: Values) -> Values:
        assert isinstance(loop.iter, ast.Call)
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        self._need_free(loop.iter, values, loop)
        lanes = dict(zip(names, loop.iter.args, strict=True))
        for statement in loop.body:
            self._lane_statement(statement, lanes, False, values)
        return values

    def _lane_statement(
        self, statement: ast.stmt, lanes: Mapping[str, ast.expr], guarded: bool, values: Values
    ) -> None:
        match statement:
            case Comment() | Blank() | ast.Pass():
                return
            case ast.If(test=test, body=body, orelse=orelse):
                self._need_free(test, values, statement)
                for inner in (*body, *orelse):
                    self._lane_statement(inner, lanes, True, values)
            case ast.Assign() | ast.AugAssign():
                self._assign(statement, lanes, guarded, values)
            case ast.For(iter=ast.Call() as header, target=ast.Name(id=counter), body=body):
                self._need_free(header, values, statement)
                values[counter] = FREE
                for inner in body:
                    self._lane_statement(inner, lanes, True, values)
                values.update(_many(values))
                again = dict(values)
                for inner in body:
                    self._lane_statement(inner, lanes, True, again)
                self._need_same(values, again, statement)
            case _:
                raise NotFollowedError(statement, "T.Parallel holds what is not followed")

    def _assign(
        self,
        statement: ast.Assign | ast.AugAssign,
        lanes: Mapping[str, ast.expr],
        guarded: bool,
        values: Values,
    ) -> None:
        if isinstance(statement, ast.AugAssign):
            target: ast.expr = statement.target
            value = self._gathered(statement, lanes, values)
        else:
            (target,) = statement.targets
            value = self.value(statement.value, values)
        if not terms.is_free(value) and not self.keeps_type(statement.value, target):
            value = None
        if isinstance(target, ast.Subscript):
            self._store(target, value, lanes, guarded, values, statement)
        elif isinstance(target, ast.Name):
            self._bind(target.id, statement, value, guarded, values)

    def _bind(
        self, name: str, statement: ast.stmt, value: Value, guarded: bool, values: Values
    ) -> None:
        """A let, a variable, a declaration or a view."""
        facts = self.facts
        if name in facts.tiles:
            made = getattr(statement, "value", None)
            is_alias = made is not None and is_view(made)
            self._set(name, self._of_aliases(name, values) if is_alias else FREE, values)
            return
        if name in facts.variables:
            value = self.cast(value, facts.variables[name])
        if guarded:
            value = terms.either(values.get(name, FREE), value)
        values[name] = value

    def _gathered(
        self, statement: ast.AugAssign, lanes: Mapping[str, ast.expr], values: Values
    ) -> Value:
        """`x[i] += e`, which sums over the loop variables that are no index of x."""
        target = statement.target
        old = self.value(ast.copy_location(_loaded(target), target), values)
        added = self.value(statement.value, values)
        if isinstance(target, ast.Subscript):
            missing = set(lanes) - names_in(target.slice)
            if missing and added is not None:
                added = None if _indices(added) & missing else terms.blurred(added)
        return self.binary(statement.op, old, added)

    def _store(
        self,
        target: ast.Subscript,
        value: Value,
        lanes: Mapping[str, ast.expr],
        guarded: bool,
        values: Values,
        node: ast.AST,
    ) -> None:
        name = base_name(target) or ""
        tile = self.facts.tiles.get(name)
        indices = index_list(target)
        if tile is None:
            raise NotFollowedError(node, f"it stores to `{name}`")
        for index in indices:
            self._need_free(index, values, node)
        places: dict[str | int, str | int] = {}
        covers = not guarded
        for number, (index, extent, tree) in enumerate(
            zip(indices, tile.shape, tile.trees, strict=True)
        ):
            if isinstance(index, ast.Name) and index.id in lanes and index.id not in places:
                places[index.id] = f"@{number}" if extent != 1 else 0
                covers &= ast.dump(lanes[index.id]) == ast.dump(tree) or _is(
                    lanes[index.id], extent
                )
            else:
                covers &= extent == 1
        value = terms.renamed(self.cast(value, tile.dtype), places)
        self._set(name, value if covers else terms.either(values.get(name, FREE), value), values)

    def _set(self, name: str, value: Value, values: Values) -> None:
        """A tile's new value; what else has its memory is known only where nothing is carried."""
        values[name] = value
        for other in self._aliases(name):
            values[other] = FREE if terms.is_free(value) else None

    def _aliases(self, name: str) -> list[str]:
        tile = self.facts.tiles[name]
        return [
            other
            for other, one in self.facts.tiles.items()
            if other != name and one.storage == tile.storage
        ]

    def _of_aliases(self, name: str, values: Values) -> Value:
        found = [values.get(other, FREE) for other in self._aliases(name)]
        return FREE if all(map(terms.is_free, found)) else None

    # Operators that are statements.

    def _operator(self, function: str, call: ast.Call, values: Values) -> None:
        operator = self.facts.operators[function]
        if operator.kind == "hint":
            return
        if operator.kind != "statement":
            raise NotFollowedError(call, f"it holds T.{function}")
        arguments = operator.arguments(call)
        target = arguments.get(operator.writes)
        if target is None:
            self._need_free(call, values, call)
            return
        name = base_name(target) or ""
        tile = self.facts.tiles.get(name)
        if tile is None:
            raise NotFollowedError(call, f"it stores to `{name}`")
        if isinstance(target, ast.Subscript):
            self._need_free(target.slice, values, call)
        followed = follow(function, arguments)
        value = self._unfollowed(call, operator.writes, arguments, values)
        if followed is not None and not terms.is_free(value):
            value = followed(self, arguments, tile, values)
        value = self.cast(value, tile.dtype)
        if isinstance(target, ast.Subscript) and tile.shape != (1,):
            value = None if value is None or _indices(value) else value
            value = terms.either(values.get(name, FREE), value)
        self._set(name, value, values)

    def _unfollowed(
        self, call: ast.Call, writes: str, arguments: Mapping[str, ast.expr], values: Values
    ) -> Value:
        """What an operator makes of values that nothing carried is in, and unknown otherwise."""
        operator = self.facts.operators[
            call.func.attr if isinstance(call.func, ast.Attribute) else ""
        ]
        read = [tree for parameter, tree in arguments.items() if parameter != writes]
        if operator.keeps(dict(arguments)):
            read.append(arguments[writes])
        used = {name for tree in read for name in names_in(tree)}
        return FREE if all(terms.is_free(values.get(name, FREE)) for name in used) else None


def _indices(value: terms.Terms) -> set[str | int]:
    return {index for one in terms.elements_in(value) for index in one.index if index != 0}


def _many(values: Values) -> Values:
    """Values after any number of turns of an inner loop, each of which adds something."""
    return {
        name: value
        if value is None
        else {key: factor if key[0] is not None else None for key, factor in value.items()}
        for name, value in values.items()
    }


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    assert isinstance(target, ast.Name)
    return ast.Name(target.id, ast.Load())


def _is(tree: ast.expr, extent: int) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == extent
