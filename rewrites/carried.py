"""How the values that a loop carries are combined, where its turns are shared out.

A sum may be relative to extremes: with every turn what was summed is multiplied by exp(w(old) -
w(new)), and what is added by exp(-w(new)), as in a softmax whose maximum is found on the way.
"""

import ast
from dataclasses import dataclass
from fractions import Fraction

from rewrites import carried_terms as terms
from rewrites.carried_terms import Coefficient, Exponent
from rewrites.facts import Facts
from rewrites.tree import base_name, walk
from rewrites.turn_expressions import Values
from rewrites.turn_values import NotFollowedError, Turn

_MINUS: Coefficient = frozenset({((), Fraction(-1))})


@dataclass(frozen=True)
class Part:
    """A summand of a weight: a factor times an element of an extreme."""

    name: str
    index: terms.Index
    factor: Coefficient


@dataclass(frozen=True)
class Weight:
    """What sums are relative to: a power, with base "2" or "e", of a sum of parts."""

    base: str = ""
    parts: frozenset[Part] = frozenset()


PLAIN = Weight()


@dataclass(frozen=True)
class Rule:
    """How two values are combined: "sum", "max", "min" or "any"; empty for one that stays as it is.

    "any" is of a variable that is True from the first turn on that says so.
    """

    kind: str
    weight: Weight = PLAIN


def rules_of(
    bodies: list[list[ast.stmt]],
    written: set[str],
    needed: set[str],
    scalars: set[str],
    facts: Facts,
) -> dict[str, Rule]:
    """The rules of the tiles and variables that are needed behind loops, and of what they need.

    `bodies` are those of the loops, which write `written`, and `scalars` have one value in all of a
    program. Raises `NotFollowedError` where there is no such rule.
    """
    turn = Turn(written, scalars, facts)
    paths = [(body, values) for body in bodies for values in turn.paths(body)]
    rules: dict[str, Rule] = {}
    waiting = sorted(needed)
    while waiting:
        name = waiting.pop()
        found = {_rule(name, values, body, facts) for body, values in paths}
        kinds = [rule for rule in found if rule.kind]
        if len(kinds) > 1:
            raise _unknown(name, bodies[0], facts)
        if not kinds:
            continue
        (rules[name],) = kinds
        # What stays as it is must not be rescaled there.
        still = [values for _, values in paths if terms.single(values[name]) is not None]
        weight = rules[name].weight
        if any(_rescale(weight, values) != terms.NOTHING for values in still):
            raise _unknown(name, bodies[0], facts)
        bases = {part.name for part in weight.parts}
        for base in sorted(bases & turn.rounded):
            raise NotFollowedError(
                _write(base, bodies[0], facts), f"`{base}` is rounded where sums are rescaled by it"
            )
        waiting += sorted(bases - rules.keys())
    extremes = {name for name, rule in rules.items() if rule.kind in ("max", "min")}
    for name, rule in rules.items():
        if not {part.name for part in rule.weight.parts} <= extremes:
            raise _unknown(name, bodies[0], facts)
    return rules


def _rule(name: str, values: Values, body: list[ast.stmt], facts: Facts) -> Rule:
    """The rule of one way through a turn."""
    value = values[name]
    one = terms.single(value)
    if one is not None and one.name == name and one.index == _own_index(name, facts):
        return Rule(one.kind)
    if facts.variables.get(name) == "bool" and value == terms.number(True):
        return Rule("any")
    made = None if value is None else _sum(name, value, values, facts)
    if made is not None:
        return made
    is_new = value is not None and all(one is None or one.name != name for one, _ in value)
    if is_new:
        raise NotFollowedError(
            _write(name, body, facts),
            f"each turn gives `{name}` a new value, and the last one is needed behind the loop",
        )
    raise _unknown(name, body, facts)


def _sum(name: str, value: terms.Terms, values: Values, facts: Facts) -> Rule | None:
    """A sum: once its old value, rescaled, and things that are all under the newest weight."""
    old = [(key, factor) for key, factor in value.items() if key[0] is not None]
    if len(old) != 1:
        return None
    (((own, rescale), factor),) = old
    assert own is not None
    if own != terms.Element(name, _own_index(name, facts)) or factor != terms.ONE:
        return None
    added = {exponent for one, exponent in value if one is None}
    if added:
        weight = _weight(added.pop(), None)
    else:
        weight = _weight(rescale, 0)
    if weight is None or added or rescale != _rescale(weight, values):
        return None
    if any(exponent != _under(weight, values) for one, exponent in value if one is None):
        return None
    return Rule("sum", weight)


def _weight(exponent: Exponent, version: int | None) -> Weight | None:
    """The weight whose negative an exponent is, or the positive part of it with a version."""
    base, form = exponent
    sign = _MINUS if version is None else terms.ONE
    parts = frozenset(
        Part(one.name, one.index, factor)
        for one, coefficient in form
        if version is None or one.version == version
        if (factor := terms.times(coefficient, sign)) is not None
    )
    if not all(isinstance(at, int) or at.startswith("@") for part in parts for at in part.index):
        # Which element it is differs within a turn.
        return None
    return Weight(base, parts) if parts else PLAIN


def _under(weight: Weight, values: Values) -> Exponent | None:
    """-w(new) as an exponent; None where an extreme is none."""
    form = set()
    for part in weight.parts:
        newest = terms.single(values.get(part.name))
        factor = terms.times(part.factor, _MINUS)
        if newest is None or newest.name != part.name or factor is None:
            return None
        at = terms.Element(part.name, part.index, newest.version, newest.kind)
        form.add((at, factor))
    return (weight.base, frozenset(form)) if form else terms.NOTHING


def _rescale(weight: Weight, values: Values) -> Exponent | None:
    """w(old) - w(new) as an exponent."""
    under = _under(weight, values)
    if under is None or not weight.parts:
        return under
    old = frozenset((terms.Element(part.name, part.index), part.factor) for part in weight.parts)
    return terms.joined((weight.base, old), under)


def _own_index(name: str, facts: Facts) -> terms.Index:
    tile = facts.tiles.get(name)
    return () if tile is None else terms.places(tile.shape)


def _unknown(name: str, body: list[ast.stmt], facts: Facts) -> NotFollowedError:
    return NotFollowedError(
        _write(name, body, facts),
        f"`{facts.written_names.get(name, name)}` is neither a sum nor a maximum of what the turns "
        "give by themselves",
    )


def _write(name: str, body: list[ast.stmt], facts: Facts) -> ast.AST:
    """The last statement that writes a tile or variable."""
    found: ast.AST = body[0]
    for node in walk(ast.Module(body, [])):
        match node:
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                if base_name(target) == name:
                    found = node
            case ast.Call(func=ast.Attribute(attr=function)) if function in facts.operators:
                operator = facts.operators[function]
                written = operator.arguments(node).get(operator.writes)
                if written is not None and base_name(written) == name:
                    found = node
    return found
