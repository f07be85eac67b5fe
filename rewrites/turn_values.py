"""What tiles and variables hold after one turn of a loop, in terms of what it found in them.

Each branch that a turn may take has values of its own. What depends on carried values in a way that
the terms cannot say is unknown, and what cannot be followed at all raises `NotFollowedError`.
"""

import ast
import itertools
from collections.abc import Callable, Mapping

from rewrites import carried_terms as terms
from rewrites.carried_terms import FREE, ZERO, Element, Value
from rewrites.dtypes import bits, is_float
from rewrites.facts import Facts, Tile
from rewrites.nodes import Blank, Comment
from rewrites.tree import base_name, index_list, is_view, names_in

Values = dict[str, Value]
PATHS = 32


class NotFollowedError(Exception):
    """A statement that a part of a loop cannot do by itself."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.why = why


class Turn:
    """Follows the statements of a loop's body.

    `carried` are the tiles and variables that the loop writes; all others are as before it.
    `scalars` are names of one value in all of a program.
    """

    def __init__(self, carried: set[str], scalars: set[str], facts: Facts) -> None:
        self.facts = facts
        self.carried = carried
        self.scalars = scalars
        # Elements that went through a type of fewer than 32 bits.
        self.rounded: set[str] = set()
        self._versions = itertools.count(1)
        # The versions that each extreme is made of, itself among them.
        self._made_of: dict[int, set[int]] = {}

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
        if not terms.is_free(value) and not self._keeps_type(statement.value, target):
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
            value = self._cast(value, facts.variables[name])
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
        return self._binary(statement.op, old, added)

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
        value = terms.renamed(self._cast(value, tile.dtype), places)
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
        follow = self._followed(function, arguments)
        value = self._unfollowed(call, operator.writes, arguments, values)
        if follow is not None and not terms.is_free(value):
            value = follow(arguments, tile, values)
        value = self._cast(value, tile.dtype)
        if isinstance(target, ast.Subscript) and tile.shape != (1,):
            value = None if value is None or _indices(value) else value
            value = terms.either(values.get(name, FREE), value)
        self._set(name, value, values)

    def _followed(
        self, function: str, arguments: Mapping[str, ast.expr]
    ) -> Callable[[Mapping[str, ast.expr], Tile, Values], Value] | None:
        if {"A", "B", "C", "clear_accum"} <= arguments.keys():
            return self._product
        if function.startswith("reduce"):
            kind = arguments.get("reduce_type")
            named = kind.value if isinstance(kind, ast.Constant) else function[len("reduce_") :]
            if named in ("sum", "max", "min"):
                return lambda given, tile, values: self._reduced(str(named), given, tile, values)
        return {"copy": self._copied, "fill": self._filled, "clear": self._cleared}.get(function)

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

    def _copied(self, given: Mapping[str, ast.expr], tile: Tile, values: Values) -> Value:
        source, target = given["src"], given["dst"]
        if not isinstance(source, ast.Name) or not isinstance(target, ast.Name):
            return None
        other = self.facts.tiles.get(source.id)
        if other is None:
            return FREE
        own = [number for number, extent in enumerate(tile.shape) if extent != 1]
        its = [number for number, extent in enumerate(other.shape) if extent != 1]
        if [tile.shape[one] for one in own] != [other.shape[one] for one in its]:
            return None
        places: dict[str | int, str | int] = {
            f"@{one}": f"@{two}" for one, two in zip(its, own, strict=True)
        }
        return terms.renamed(values.get(source.id, FREE), places)

    def _filled(self, given: Mapping[str, ast.expr], tile: Tile, values: Values) -> Value:
        return self.value(given["value"], values)

    def _cleared(self, given: Mapping[str, ast.expr], tile: Tile, values: Values) -> Value:
        return ZERO

    def _product(self, given: Mapping[str, ast.expr], tile: Tile, values: Values) -> Value:
        clear = given["clear_accum"]
        if not isinstance(clear, ast.Constant) or tile.rank != 2:
            return None
        factors = []
        for key, kept in (("A", 0), ("B", 1)):
            side, flag = given[key], given[f"transpose_{key}"]
            if not isinstance(side, ast.Name) or not isinstance(flag, ast.Constant):
                return None
            value = values.get(side.id, FREE)
            if value is None or any(one is not None for one, _ in value):
                return None
            axis = kept if not flag.value else 1 - kept
            factors.append(terms.renamed(value, {f"@{axis}": f"@{kept}"}))
        product = terms.multiplied(factors[0], factors[1])
        product = None if product is None else terms.blurred(product)
        old = ZERO if clear.value else values.get(tile.name, FREE)
        return terms.added(old, product)

    def _reduced(
        self, kind: str, given: Mapping[str, ast.expr], tile: Tile, values: Values
    ) -> Value:
        source, dim, clear = given["buffer"], given["dim"], given["clear"]
        other = self.facts.tiles.get(base_name(source) or "")
        axis = _number(dim)
        if not isinstance(clear, ast.Constant) or other is None or axis is None:
            return None
        value = values.get(other.name, FREE)
        axis %= other.rank
        if isinstance(source, ast.Subscript):
            value = value if terms.is_free(value) else None
        kept = [number for number in range(other.rank) if number != axis]
        own = range(tile.rank) if tile.rank < other.rank else kept
        places: dict[str | int, str | int] = {
            f"@{one}": f"@{two}" if tile.shape[two] != 1 else 0
            for one, two in zip(kept, own, strict=False)
        }
        value = terms.renamed(value, places)
        old = values.get(tile.name, FREE)
        if kind != "sum":
            # Extremes of parts pass over NaN.
            propagates = given["nan_propagate"]
            is_plain = isinstance(propagates, ast.Constant) and not propagates.value
            made = FREE if is_plain and terms.is_free(value) else None
            return made if clear.value else self._extreme(kind, old, made)
        if value is None or any(one is not None for one, _ in value):
            return None
        return terms.added(ZERO if clear.value else old, terms.blurred(value))

    # Expressions.

    def value(self, tree: ast.expr, values: Values) -> Value:
        if all(terms.is_free(values.get(name, FREE)) for name in names_in(tree)):
            return self._free(tree)
        match tree:
            case ast.Name(id=name):
                return values.get(name, FREE)
            case ast.Subscript():
                return self._load(tree, values)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.negated(self.value(operand, values))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left, values), self.value(right, values))
            case ast.Call(func=ast.Attribute(attr=function), args=args):
                return self._call(function, args, values)
        return None

    def _free(self, tree: ast.expr) -> Value:
        """A value that nothing carried is in: numbers and named scalars by themselves."""
        match tree:
            case ast.Constant(value=value) if isinstance(value, (int, float)):
                return terms.number(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.negated(self._free(operand))
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                return self._binary(op, self._free(left), self._free(right))
            case ast.Name(id=name) if name in self.scalars:
                return terms.scalar(name)
        return FREE

    def _load(self, tree: ast.Subscript, values: Values) -> Value:
        name = base_name(tree) or ""
        tile = self.facts.tiles.get(name)
        indices = index_list(tree)
        if any(not terms.is_free(values.get(one, FREE)) for one in names_in(tree.slice)):
            return None
        if tile is None or len(indices) != tile.rank:
            return None
        places: dict[str | int, str | int] = {}
        for number, index in enumerate(indices):
            if isinstance(index, ast.Name):
                places[f"@{number}"] = index.id
        return terms.renamed(values.get(name, FREE), places)

    def _binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        match op:
            case ast.Add():
                return terms.added(left, right)
            case ast.Sub():
                return terms.added(left, terms.negated(right))
            case ast.Mult():
                return terms.multiplied(left, right)
            case ast.Div() if terms.is_free(right):
                return terms.multiplied(left, _inverse(right))
        return FREE if terms.is_free(left) and terms.is_free(right) else None

    def _call(self, function: str, args: list[ast.expr], values: Values) -> Value:
        match function, args:
            case (("exp2" | "exp"), [argument]):
                base = "2" if function == "exp2" else "e"
                return terms.exponential(base, self.value(argument, values))
            case (("max" | "min"), [one, two]):
                return self._extreme(function, self.value(one, values), self.value(two, values))
            case "if_then_else", [test, one, two]:
                if all(terms.is_free(values.get(name, FREE)) for name in names_in(test)):
                    return terms.either(self.value(one, values), self.value(two, values))
            case "cast", [operand, ast.Constant(value=str(dtype))]:
                return self._cast(self.value(operand, values), dtype)
        return None

    def _cast(self, value: Value, dtype: str) -> Value:
        if value is None or terms.is_free(value):
            return value
        if not is_float(dtype):
            # Whole numbers are kept; what is scaled is rounded to nothing.
            plain = all(exponent == terms.NOTHING for _, exponent in value)
            named = [one.name for one in terms.elements_in(value)]
            types = {self._dtype(one) for one in named}
            return value if plain and types == {dtype} else None
        if bits(dtype) < 32:
            self.rounded |= {one.name for one, _ in value if one is not None}
        return value

    def _dtype(self, name: str) -> str:
        declared = self.facts.tiles.get(name) or self.facts.tensors.get(name)
        return self.facts.variables.get(name, "int32") if declared is None else declared.dtype

    def _keeps_type(self, tree: ast.expr, target: ast.expr) -> bool:
        """Whether whole numbers, if the target holds such, are not made of fractions."""
        name = base_name(target) or ""
        known = (self.facts.tiles, self.facts.tensors, self.facts.variables)
        if not any(name in one for one in known) or is_float(self._dtype(name)):
            return True
        match tree:
            case ast.Constant(value=value):
                return not isinstance(value, float)
            case ast.Name(id=used) | ast.Subscript(value=ast.Name(id=used)):
                return not is_float(self._dtype(used))
            case ast.Call(
                func=ast.Attribute(attr="cast"), args=[_, ast.Constant(value=str(dtype))]
            ):
                return not is_float(dtype)
            case ast.BinOp(op=ast.Div() | ast.Pow()):
                return False
        inner = [one for one in ast.iter_child_nodes(tree) if isinstance(one, ast.expr)]
        return all(self._keeps_type(one, target) for one in inner)

    def _extreme(self, kind: str, left: Value, right: Value) -> Value:
        """The larger or smaller of two, of which one or both are extremes of one element."""
        one, two = terms.single(left), terms.single(right)
        if one is not None and two is not None:
            if (one.name, one.index) != (two.name, two.index):
                return None
            for later, earlier in ((one, two), (two, one)):
                is_alike = later.kind in ("", kind) and earlier.kind in ("", kind)
                if is_alike and earlier.version in self._made_of.get(
                    later.version, {later.version}
                ):
                    return terms.element(later)
            return None
        if terms.is_free(left) and terms.is_free(right):
            return FREE
        one, other = (one, right) if one is not None else (two, left)
        if one is None or not terms.is_free(other) or one.kind not in ("", kind):
            return None
        version = next(self._versions)
        self._made_of[version] = {version, *self._made_of.get(one.version, {one.version})}
        return terms.element(Element(one.name, one.index, version, kind))


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


def _number(tree: ast.expr) -> int | None:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def _inverse(value: Value) -> Value:
    """1 / value, where it is a number."""
    if value is not None and len(value) == 1:
        (coefficient,) = value.values()
        if coefficient is not None and len(coefficient) == 1:
            ((names, factor),) = coefficient
            if not names:
                return {(None, terms.NOTHING): frozenset({((), 1 / factor)})}
    return FREE
