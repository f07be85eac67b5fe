"""What consumers do: wait for tiles, multiply, compute beside products in flight, and store."""

import ast
from collections.abc import Set
from dataclasses import dataclass

from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.flights import Flights
from rewrites.gluon.layouts import ANY, every, in_gluon
from rewrites.gluon.parts import Parts
from rewrites.gluon.products import Products
from rewrites.gluon.ranges import Chain
from rewrites.gluon.rings import (
    Load,
    factors_of,
    halves_of,
    is_dot,
    is_product_loop,
    load_of,
    loads_of,
    reads,
)
from rewrites.gluon.sites import Sites
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, expr, name, place, stmts
from rewrites.tree import names_in
from rewrites.turns import is_read_first


@dataclass
class Consumer:
    """Writes the body of the function that each consumer runs."""

    parts: Parts
    sites: Sites
    chain: Chain

    def __post_init__(self) -> None:
        self.body = self.parts.consumed
        kept = set().union(*map(names_in, self.chain.bounds))
        self.places = _only_places(self.body, kept, self.parts.rings.keys())
        self.flights = Flights(self.sites)
        self.products = Products(self.parts, self.sites, self.flights, self.body)
        self.layouts = self.products.layouts
        # Tiles in rings, with the last statement that reads each; tiles that are on their way.
        self.held: dict[str, ast.stmt] = {}
        self.coming: dict[str, Load] = {}
        # Tiles that are needed behind the loops, and fetched before.
        self.fetched: set[str] = set()

    def written(self) -> list[ast.stmt]:
        made = self._written()
        read = set().union(*map(names_in, made))
        return [*self.products.declared(read), *made]

    def _written(self) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for ring in self.parts.rings.values():
            made += stmts("turn = 0", turn=self.sites.turn(ring.name))
        loops = [at for at, one in enumerate(self.body) if _has_product_loop(one)]
        first, last = self._first_product(), loops[-1]
        made += self.block(self.body[:first])
        made += self.ahead(self.body[:first], self.body[last + 1 :])
        made += self.sites.passed(self.chain, is_first=True)
        made += self.block(self.body[first : last + 1])
        made += self.sites.passed(self.chain, is_first=False)
        made += self.block(self.body[last + 1 :])
        made += self.flights.drained(self.body[-1])
        return made

    def ahead(self, before: list[ast.stmt], behind: list[ast.stmt]) -> list[ast.stmt]:
        """Begin to fetch what is needed behind the loops, where it is known before them."""
        known = set().union(*(names_in(one) for one in before), self.parts.facts.constants)
        made: list[ast.stmt] = []
        for statement in behind:
            load = load_of(statement)
            if load is None or load.name not in self.parts.once:
                continue
            if all(names_in(one) <= known for one in load.coordinates):
                made += [place(one, statement) for one in self.sites.fetched(load)]
                self.fetched.add(load.name)
        return made

    def _first_product(self) -> int:
        """Where loops begin, or the first turn of a rotated one."""
        return next(
            at
            for at, one in enumerate(self.body)
            if _has_product_loop(one)
            or any(load.name in self.parts.rings for load in loads_of(list(every([one]))))
        )

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for at, statement in enumerate(body):
            load = load_of(statement)
            if load is not None and load.name in self.parts.rings:
                self.held[load.name] = _last_reader(load.name, body[at + 1 :])
            made += self.statement(statement)
        return made

    def statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case Comment() | Blank():
                return [statement]
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                load = load_of(statement)
                if load is not None:
                    return self.load(load, statement)
                if target in self.places:
                    return []
                if is_dot(value):
                    assert isinstance(value, ast.Call)
                    return self.product(target, value, statement)
                made = self.arrived(reads(statement), statement)
                made += self.flights.finished({target, *reads(statement)}, statement)
                known = self.layouts.known.get(target)
                copy = ast.Assign([name(target)], self.layouts.placed(value, known))
                made += self.chain.paired(statement, copy, name(self.sites.part))
                made += self.freed(reads(statement), statement)
                return [place(one, statement) for one in made]
            case ast.Assign(targets=[ast.Tuple()], value=ast.Call(func=called)) if (
                ast.unparse(called) == "tl.swizzle2d"
            ):
                paired = self.chain.paired(statement, copy_tree(statement), name(self.sites.part))
                return [place(one, statement) for one in paired]
            case ast.Assign() if halves_of(statement):
                made = self.flights.finished(reads(statement), statement)
                return [place(one, statement) for one in (*made, *self.products.halved(statement))]
            case ast.For(iter=ast.Call(args=args), target=target, body=body):
                return self.loop(statement, target, args, body)
            case ast.If(test=test, body=body, orelse=[]):
                before = [
                    *self.arrived(set(self.coming), statement),
                    *self.flights.drained(statement),
                ]
                inside = self.block(body)
                inside += self.flights.drained(statement)
                return [*before, place(ast.If(in_gluon(test), inside, []), statement)]
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="store")) as call):
                return self.store(call, statement)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="static_assert")) as call):
                return [place(ast.Expr(in_gluon(call)), statement)]
        raise UnsuitedError(f"`{ast.unparse(statement).partition(chr(10))[0]}` has no form here")

    def loop(
        self, statement: ast.For, target: ast.expr, args: list[ast.expr], body: list[ast.stmt]
    ) -> list[ast.stmt]:
        made = [*self.arrived(set(self.coming), statement), *self.flights.drained(statement)]
        header = ast.Call(name("range"), [in_gluon(one) for one in args], [])
        inside = self.block(body)
        behind: list[ast.stmt] = []
        if self._may_run_on(body):
            (flight,) = self.flights.flying
            self.flights.flying = []
            inside += self.flights.waited(1, [flight.sum])
            start, stop = (ast.Constant(0), *header.args)[-2:]
            for tile in flight.tiles:
                later = expr("k > start", k=copy_tree(target), start=copy_tree(start))
                any_turn = expr("stop > start", stop=copy_tree(stop), start=copy_tree(start))
                inside += self.sites.returned(tile, 2, later)
                behind += self.sites.returned(tile, 1, any_turn)
            behind = [*self.flights.waited(0, [flight.sum]), *behind]
        inside += self.flights.drained(statement)
        loop = ast.For(copy_tree(target), header, inside, [])
        return [place(one, statement) for one in (*made, loop, *behind)]

    def _may_run_on(self, body: list[ast.stmt]) -> bool:
        """Whether a turn's only product may end in the next turn, which adds to the same sum.

        Its factors stay in their slots until then.
        """
        if len(self.flights.flying) != 1 or len(self.parts.loops) > 1:
            return False
        (flight,) = self.flights.flying
        sums = [one for one in body if isinstance(one, ast.Assign) and is_dot(one.value)]
        is_read = any(flight.sum in reads(one) for one in body if one not in sums)
        is_kept = not flight.registers and not flight.memories
        return is_kept and len(sums) == 1 and not is_read

    def load(self, load: Load, statement: ast.stmt) -> list[ast.stmt]:
        """Begin to fetch a tile that is loaded once; the producer brings those of rings."""
        made = self.flights.finished({load.name}, statement)
        if load.name not in self.parts.rings and load.name not in self.fetched:
            made += self.sites.fetched(load)
        self.coming[load.name] = load
        return [place(one, statement) for one in made]

    def arrived(self, names: set[str], statement: ast.stmt) -> list[ast.stmt]:
        """Wait for those of these tiles that are on their way."""
        here = [one for one in self.coming if one in names]
        made: list[ast.stmt] = []
        for one in here:
            load, is_ring = self.coming.pop(one), one in self.parts.rings
            made += self.sites.awaited(load) if is_ring else self.sites.arrived(load)
        return [place(one, statement) for one in made]

    def freed(self, names: set[str], statement: ast.stmt) -> list[ast.stmt]:
        """Give back the slots of tiles that have been read into registers, the last time here.

        Where a product in flight reads the same tile, its slot goes back behind that.
        """
        done = [one for one in self.held if one in names and self.held[one] is statement]
        made = stmts("fence_async_shared()") if done else []
        for one in done:
            del self.held[one]
            reader = self.flights.reading(one)
            if reader is not None:
                reader.tiles.append(one)
            else:
                made += stmts(f"mbarrier.arrive({self.sites.empty(one)}, count=1)")
        return [place(one, statement) for one in made]

    def product(self, target: str, call: ast.Call, statement: ast.stmt) -> list[ast.stmt]:
        """A product, behind which the tiles that nothing else reads are given back."""
        factors = [one for one, _ in factors_of(call)]
        made = self.arrived(set(factors), statement)
        tiles = [one for one in dict.fromkeys(factors) if self.held.get(one) is statement]
        for one in tiles:
            del self.held[one]
        made += self.products.made(target, call, tiles, statement)
        return [place(one, statement) for one in made]

    def store(self, call: ast.Call, statement: ast.stmt) -> list[ast.stmt]:
        """Store a tile by way of shared memory, or as it lies in registers, by pointers."""
        made = [
            *self.arrived(names_in(call), statement),
            *self.flights.finished(names_in(call), statement),
        ]
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner)), args=[coordinates, value]
            ) if owner in self.parts.descriptors:
                match value:
                    case ast.Call(func=ast.Attribute(value=inner, attr="reshape")):
                        value = inner
                placed = self.layouts.placed(value, self.layouts.of(value))
                made += self.sites.stored(owner, coordinates, placed)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="tl")), args=[pointers, value]):
                layout = self.layouts.of(value)
                if layout is None or layout == ANY:
                    raise UnsuitedError(f"`{ast.unparse(value)}` follows from no product")
                words = [
                    ast.keyword(word.arg, self.layouts.placed(word.value, layout))
                    for word in call.keywords
                ]
                given = [self.layouts.placed(one, layout) for one in (pointers, value)]
                made.append(ast.Expr(ast.Call(expr("gl.store"), given, words)))
            case _:
                raise UnsuitedError(f"`{ast.unparse(call)}` has no form here")
        return [place(one, statement) for one in made]


def _last_reader(one: str, behind: list[ast.stmt]) -> ast.stmt:
    """The last statement that reads a tile, of those behind the one that waits for it."""
    found: ast.stmt | None = None
    is_set_again = False
    for statement in behind:
        load = load_of(statement)
        if load is not None and load.name == one:
            break
        if one not in names_in(statement):
            continue
        match statement:
            case ast.For(body=body) if not is_read_first(body, one):
                is_set_again = True
            case ast.Assign() if not is_set_again:
                found = statement
            case _:
                raise UnsuitedError(f"`{one}` is read elsewhere than it is loaded")
    if found is None:
        raise UnsuitedError(f"`{one}` is read elsewhere than it is loaded")
    return found


def _only_places(body: list[ast.stmt], kept: set[str], rings: Set[str]) -> set[str]:
    """The names that only say where the tiles of rings are loaded, which the producer does."""
    found: set[str] = set()
    while True:
        read, made = set(kept), set()
        for one in every(body):
            load = load_of(one)
            match one:
                case ast.For(iter=ast.expr() as header) | ast.If(test=header):
                    read |= names_in(header)
                case ast.Assign(targets=[target], value=value) if load is None:
                    made |= names_in(target)
                    read |= set() if names_in(target) <= found else names_in(value)
                case _ if load is None or load.name not in rings:
                    read |= reads(one)
        if made - read == found:
            return found
        found = made - read


def _has_product_loop(statement: ast.stmt) -> bool:
    return any(is_product_loop(one) for one in every([statement]))
