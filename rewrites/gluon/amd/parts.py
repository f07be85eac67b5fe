"""What a Triton kernel falls into: loops of products, what they load, and what is loaded once."""

import ast
from dataclasses import dataclass, field

from rewrites.dtypes import bits
from rewrites.environment import Environment, Names, environment_of
from rewrites.facts import Facts, Launch, Tile
from rewrites.gluon.amd.chips import CHIPS, Chip
from rewrites.gluon.amd.fetches import Fetch, fetch_of
from rewrites.gluon.amd.versions import index_variables
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import every
from rewrites.gluon.rings import factors_of, is_dot, is_product_loop, products_of
from rewrites.tree import names_in, walk

# Elements beside each other: in 16 bytes, and of a sum's row that goes on as a factor.
FROM_MEMORY, FROM_SUMS = 8, 4


@dataclass
class Parts:
    """The parts of one kernel.

    `fetches` are all loads for products; of those in loops, `rings` has one for each tile, and
    `once` has the others.
    """

    kernel: ast.FunctionDef
    launch: Launch
    facts: Facts
    chip: Chip
    names: Names
    known: Environment
    fetches: list[Fetch] = field(default_factory=list)
    rings: dict[str, Fetch] = field(default_factory=dict)
    once: dict[str, Fetch] = field(default_factory=dict)
    loops: list[ast.For] = field(default_factory=list)
    # Elements that a lane has beside each other of the factors of each product, by its variable.
    widths: dict[str, int] = field(default_factory=dict)
    definitions: dict[str, ast.expr] = field(default_factory=dict)

    @property
    def warps(self) -> int:
        return self.launch.num_warps

    @property
    def stages(self) -> int:
        """Slots of the rings; on a chip without direct copies one more tile is in registers."""
        for loop in self.loops:
            assert isinstance(loop.iter, ast.Call)
            for word in loop.iter.keywords:
                if word.arg == "num_stages":
                    asked = int(ast.literal_eval(word.value))
                    return max(2, asked if self.chip.direct else asked - 1)
        return 2

    @property
    def copied(self) -> tuple[str, ...]:
        """The tensors of which tiles are loaded ahead."""
        found = {
            one: None
            for fetch in self.rings.values()
            for one in self.facts.tensors
            if one in names_in(fetch.pointers)
        }
        return tuple(found)

    def tile(self, variable: str) -> Tile:
        tile = self.facts.tiles.get(variable)
        if tile is None or tile.rank != 2:
            raise UnsuitedError(f"`{variable}` is no tile of two dimensions")
        return tile


def parts_of(kernel: ast.FunctionDef, launch: Launch, facts: Facts) -> Parts:
    """The parts of a kernel. Raises UnsuitedError."""
    names = Names.of(kernel, facts)
    names.used |= {"gluon", "gl", "cdna3", "cdna4", "async_copy", "warp_stage"}
    parts = Parts(kernel, launch, facts, CHIPS[facts.target], names, environment_of(facts))
    body = kernel.body
    parts.loops = [one for one in body if isinstance(one, ast.For) and is_product_loop(one)]
    if not parts.loops:
        raise UnsuitedError("no loop of the kernel has products")
    if any(isinstance(node, ast.For) for loop in parts.loops for node in every(loop.body)):
        raise UnsuitedError("a loop of products has loops in it")
    inside = [one for loop in parts.loops for one in loop.body]
    if len(list(products_of(list(every(body))))) > len(list(products_of(inside))):
        raise UnsuitedError("there are products outside of loops")
    for target, call in products_of(inside):
        parts.widths[target] = _width(parts, target, call)
    parts.definitions = index_variables(body)
    _learn_divisors(parts)
    for statement in every(body):
        fetch = fetch_of(statement, body, parts.widths, facts)
        if fetch is not None:
            parts.fetches.append(fetch)
            (parts.rings if statement in inside else parts.once)[fetch.name] = fetch
    if not parts.rings:
        raise UnsuitedError("no tile is loaded in a loop for products")
    _require_loaded(parts, inside)
    for loop in parts.loops:
        _require_own_tiles(parts, loop)
    _require_no_updates(parts)
    return parts


def _width(parts: Parts, target: str, call: ast.Call) -> int:
    """How a product's factors lie in lanes: as its first one is loaded, or was computed."""
    if call.keywords:
        raise UnsuitedError(f"`{call.keywords[0].arg}=` of a product has no form here")
    if parts.tile(target).dtype != "float32":
        raise UnsuitedError(f"`{target}` is no sum in float32")
    for factor, _ in factors_of(call):
        tile = parts.tile(factor)
        if bits(tile.dtype) != 16 and not isinstance(call.args[0], ast.Call):
            raise UnsuitedError(f"`{factor}` has elements of {bits(tile.dtype)} bits")
    (first, _), _ = factors_of(call)
    is_loaded = any(
        isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and one.targets[0].id == first
        and isinstance(one.value, ast.Call)
        and ast.unparse(one.value.func) == "tl.load"
        for one in every(parts.kernel.body)
    )
    return FROM_MEMORY if is_loaded else FROM_SUMS


def _learn_divisors(parts: Parts) -> None:
    """What numbers are multiples of, which tells where rows begin."""
    for one in every(parts.kernel.body):
        match one:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if target not in parts.definitions and target not in parts.facts.tiles:
                    parts.known.divisors[target] = parts.known.divisor(value)


def _require_loaded(parts: Parts, inside: list[ast.stmt]) -> None:
    """Second factors come from rings; first ones may be loaded once, or computed."""
    for _, call in products_of(inside):
        (first, is_turned), (second, _) = factors_of(call)
        if second not in parts.rings:
            raise UnsuitedError(f"`{second}` is multiplied, which the loop does not load")
        if is_turned and first not in parts.rings:
            raise UnsuitedError(f"`{first}` is transposed, which the loop does not load")
        for tree, one in zip(call.args, (first, second), strict=False):
            is_cast = isinstance(tree, ast.Call) and ast.unparse(tree.func) != "tl.trans"
            if is_cast and (one in parts.rings or one in parts.once):
                raise UnsuitedError(f"`{one}` is multiplied as another type than it is loaded")


def _require_own_tiles(parts: Parts, loop: ast.For) -> None:
    """Let products read what the same turn has loaded: that is what is in the slot of a turn."""
    fetched = {id(one.statement) for one in parts.fetches}
    loaded: set[str] = set()
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if id(statement) in fetched:
                    if target in loaded:
                        raise UnsuitedError(f"`{target}` is loaded twice in a turn")
                    loaded.add(target)
                elif isinstance(value, ast.Call) and is_dot(value):
                    read = {one for one, _ in factors_of(value)} & parts.rings.keys()
                    if read - loaded:
                        raise UnsuitedError(f"`{min(read - loaded)}` is of another turn")


def _require_no_updates(parts: Parts) -> None:
    """Let no tensor be stored of which tiles are loaded ahead."""
    ahead = {parts.facts.tensors[one].storage for one in parts.copied}
    for node in walk(parts.kernel):
        match node:
            case ast.Call(func=ast.Attribute(attr="store"), args=[pointers, *_]):
                stored = names_in(pointers) & parts.facts.tensors.keys()
                both = {parts.facts.tensors[one].storage for one in stored} & ahead
                if both:
                    raise UnsuitedError(f"`{min(both)}` is loaded and stored")
