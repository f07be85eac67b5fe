"""What a Triton kernel falls into: what a producer loads ahead, and what consumers compute."""

import ast
from dataclasses import dataclass, field

from rewrites.dtypes import BY_NAME, bits
from rewrites.environment import Names
from rewrites.facts import Descriptor, Facts, Launch, Tile
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import dependents, every
from rewrites.gluon.pairs import Pairing, Pairs, depends
from rewrites.gluon.rings import (
    Load,
    Ring,
    factors_of,
    is_dot,
    is_product_loop,
    load_of,
    loads_of,
)
from rewrites.tree import names_in, walk

# The names of an emitted module.
MODULE = set(
    "gluon gl mbarrier tma sync_warps load_tile store_tile fence_async_shared warpgroup_mma "
    "warpgroup_mma_wait swizzle2d".split()
)


@dataclass
class Parts:
    """The parts of one kernel; `consumed` is what consumers compute, with loops rotated."""

    kernel: ast.FunctionDef
    launch: Launch
    facts: Facts
    consumers: int
    names: Names
    consumed: list[ast.stmt]
    rings: dict[str, Ring] = field(default_factory=dict)
    once: dict[str, Load] = field(default_factory=dict)
    loops: list[ast.For] = field(default_factory=list)
    # How several consumers stand in the grid.
    pairing: Pairing | None = None

    @property
    def dependent(self) -> set[str]:
        """What differs between consumers."""
        return self.pairing.dependent if self.pairing else set()

    @property
    def warps(self) -> int:
        return self.launch.num_warps

    @property
    def descriptors(self) -> dict[str, Descriptor]:
        return {one.name: one for one in self.launch.descriptors}

    @property
    def stages(self) -> int:
        for loop in self.loops:
            assert isinstance(loop.iter, ast.Call)
            for word in loop.iter.keywords:
                if word.arg == "num_stages":
                    return max(2, int(ast.literal_eval(word.value)))
        return 2

    @property
    def depth(self) -> int:
        """How many elements of the summed dimension one instruction takes."""
        (found,) = {bits(self.dtype(one.descriptor.name)) for one in self.rings.values()}
        return 256 // found

    @property
    def width(self) -> int:
        """How many elements of a factor in registers lie beside each other."""
        return self.depth // 8

    def dtype(self, descriptor: str) -> str:
        return self.facts.tensors[self.descriptors[descriptor].tensor].dtype

    def factor_dtype(self, tree: ast.expr) -> str:
        """The type of a factor that is a name, or a cast of one, in Triton's words."""
        match tree:
            case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Attribute(attr=kind)]):
                return kind
        return BY_NAME[self.tile(ast.unparse(tree)).dtype].triton

    def tile(self, variable: str) -> Tile:
        tile = self.facts.tiles.get(variable)
        if tile is None or tile.rank != 2:
            raise UnsuitedError(f"`{variable}` is no tile of two dimensions")
        return tile

    def is_loaded(self, variable: str) -> bool:
        return variable in self.rings or variable in self.once


def parts_of(
    kernel: ast.FunctionDef, launch: Launch, facts: Facts, consumers: int, consumed: list[ast.stmt]
) -> Parts:
    """The parts of a kernel. Raises UnsuitedError."""
    names = Names.of(kernel, facts)
    taken = names.used & MODULE
    if taken:
        raise UnsuitedError(f"`{min(taken)}` is a name of what its module imports")
    names.used |= MODULE
    parts = Parts(kernel, launch, facts, consumers, names, consumed)
    if launch.num_warps % 4:
        raise UnsuitedError("wgmma takes four warps")
    parts.loops = [one for one in kernel.body if isinstance(one, ast.For) and is_product_loop(one)]
    if not parts.loops:
        raise UnsuitedError("no loop of the kernel has products")
    _require_flat(parts)
    _require_no_updates(parts)
    if launch.options.get("num_ctas", 1) > 1:
        raise UnsuitedError("a cluster of programs has no producer here")
    if consumers > 1:
        parts.pairing = Pairs(kernel, launch, facts, consumers).best(parts.loops)
    _find_rings(parts)
    return parts


def _require_no_updates(parts: Parts) -> None:
    """Let no tensor be loaded and stored.

    TMA does not see what was just stored; and where consumers do not divide the grid, the last tile
    is computed more than once.
    """
    touched: dict[str, set[str]] = {"load": set(), "store": set()}
    for node in walk(parts.kernel):
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="load" | "store" as kind), args=args
            ):
                names = names_in(args[0]) if ast.unparse(owner) == "tl" else names_in(owner)
                described = {
                    parts.descriptors[one].tensor if one in parts.descriptors else one
                    for one in names
                }
                tensors = described & parts.facts.tensors.keys()
                touched[kind] |= {parts.facts.tensors[one].storage for one in tensors}
    both = touched["load"] & touched["store"]
    if both:
        raise UnsuitedError(f"`{min(both)}` is loaded and stored")


def _find_rings(parts: Parts) -> None:
    """Tiles that loops load by TMA are rings; those that are loaded before or after, are not."""
    in_loops: dict[str, Load] = {}
    for loop in parts.loops:
        loads = loads_of(loop.body)
        for one in loads:
            in_loops.setdefault(one.name, one)
        if len({one.name for one in loads}) < len(loads):
            raise UnsuitedError("a loop loads a tile twice in a turn")
    for one in in_loops.values():
        descriptor = parts.descriptors.get(one.descriptor)
        if descriptor is None:
            raise UnsuitedError(f"`{one.descriptor}` is no descriptor that the launcher makes")
        is_own = depends(one, parts.dependent)
        parts.rings[one.name] = Ring(one, descriptor, not is_own)
    if not parts.rings:
        raise UnsuitedError("no tile is loaded by TMA in a loop")
    statements = list(every(parts.kernel.body))
    inside = {id(one) for loop in parts.loops for one in loop.body}
    for statement in statements:
        load = load_of(statement)
        if load is None:
            continue
        _require_type(parts, load)
        if load.name not in parts.rings:
            parts.once[load.name] = load
        elif id(statement) not in inside:
            raise UnsuitedError(f"`{load.name}` is loaded in a loop and outside of it")
    for statement in statements:
        _require_readable(parts, statement)
    wide = _wide(parts)
    for loop in parts.loops:
        for statement in loop.body:
            _require_no_tiles_by_pointers(parts, statement, wide)


def _require_readable(parts: Parts, statement: ast.stmt) -> None:
    """Elements that wgmma reads as they lie, summed as Triton sums them by default.

    Those of 8 bits it reads along what is summed only.
    """
    match statement:
        case ast.Assign(value=ast.Call(keywords=words) as call) if is_dot(call):
            if words:
                raise UnsuitedError(f"`{words[0].arg}=` of a product has no form here")
            for at, (one, is_turned) in enumerate(factors_of(call)):
                tile = parts.facts.tiles.get(one)
                if tile is None or bits(tile.dtype) == 16:
                    continue
                if not tile.dtype.startswith("float8"):
                    raise UnsuitedError(f"`{one}` has elements of {tile.dtype}")
                if is_turned != bool(at) or not parts.is_loaded(one):
                    raise UnsuitedError(f"`{one}` of 8 bits does not lie along what is summed")


def _wide(parts: Parts) -> set[str]:
    """The names of what is no number."""
    made = {
        one.id
        for statement in every(parts.kernel.body)
        if isinstance(statement, ast.Assign) and "tl.arange(" in ast.unparse(statement.value)
        for target in statement.targets
        for one in walk(target)
        if isinstance(one, ast.Name)
    }
    return dependents(parts.kernel.body, {*made, *parts.facts.tiles})


def _require_no_tiles_by_pointers(parts: Parts, statement: ast.stmt, wide: set[str]) -> None:
    """Loops load whole tiles by TMA: by pointers they would come late, and as products lie."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if load_of(statement) is None:
            tile = parts.facts.tiles.get(target)
            calls = {ast.unparse(one.func) for one in walk(value) if isinstance(one, ast.Call)}
            is_row = tile is not None and tile.rank == 1
            if "tl.load" in calls and target in wide and not is_row:
                raise UnsuitedError(f"pointers load `{target}` in a loop")


def _require_type(parts: Parts, load: Load) -> None:
    """TMA converts nothing on the way."""
    tile = parts.facts.tiles.get(load.name)
    if load.descriptor not in parts.descriptors:
        raise UnsuitedError(f"`{load.descriptor}` is no descriptor that the launcher makes")
    kind = parts.dtype(load.descriptor)
    if tile is not None and tile.dtype != kind:
        raise UnsuitedError(f"`{load.name}` is no tile of {kind}")


def _require_flat(parts: Parts) -> None:
    """Loops with products stand right in the kernel, and have neither loops nor branches inside."""
    for statement in parts.kernel.body:
        inner = every([statement])
        next(inner)
        for one in inner if not isinstance(statement, ast.For) or statement in parts.loops else ():
            if isinstance(one, (ast.For, ast.While, ast.If)):
                raise UnsuitedError("a loop with products has loops or branches inside")
        if isinstance(statement, (ast.While, ast.If)) or (
            isinstance(statement, ast.For) and statement not in parts.loops
        ):
            raise UnsuitedError("it has loops without products, or branches")
