"""Layouts of the tiles that a consumer computes with: from its products to all else.

A product's layout is that of wgmma; a reduction of it is a slice; what is element by element has
the layout of its operands. What is made of numbers alone, as `tl.arange` is, takes the layout of
what it is first used with.
"""

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass

from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.rings import factors_of, is_dot, products_of
from rewrites.quote import copy_tree, expr, literal, name
from rewrites.tree import names_in

MADE_OF_NUMBERS = ("arange", "zeros", "full")
REDUCTIONS = ("max", "min", "sum")
# Functions of elements that Gluon has under the same name.
ELEMENTWISE = (
    "abs cdiv ceil clamp cos div_rn erf exp exp2 floor fma log log2 maximum minimum rsqrt sin sqrt "
    "where to program_id num_programs load int64 umulhi zeros_like"
).split()


@dataclass(frozen=True)
class Layout:
    """Of the product whose layout is called `base`, or the slice of it that has lost `lost`.

    Without a base it is any layout; a number has none.
    """

    base: str = ""
    lost: int | None = None

    @property
    def tree(self) -> ast.expr:
        if self.lost is None:
            return name(self.base)
        return expr("gl.SliceLayout(dim, base)", dim=literal(self.lost), base=name(self.base))


# Before the name of a function of the device, where it is one of Gluon's.
GLUON = "_gluon"
ANY = Layout()
Found = Layout | None


class Layouts:
    """The layout of each variable of a consumer, whose products have the layouts `products`.

    Tiles that are `loaded` lie in shared memory, from where they are read in the layout of their
    use. `factors` are the layouts of products' first factors in registers, by those of the sums.
    """

    def __init__(
        self,
        body: list[ast.stmt],
        products: dict[str, str],
        loaded: Set[str],
        factors: dict[str, str],
    ) -> None:
        self.products, self.loaded, self.factors = products, loaded, factors
        self.known: dict[str, Found] = {}
        assignments = [one for one in every(body) if isinstance(one, ast.Assign)]
        self._learn_factors(assignments)
        while True:
            before = dict(self.known)
            for one in assignments:
                self._learn(one)
            for statement in every(body):
                self._learn_store(statement)
            if self.known == before:
                break

    def _learn_factors(self, assignments: list[ast.Assign]) -> None:
        """Let what leads to factors, and from no product, have the layouts of these factors."""
        of_products = dependents([*assignments], set(self.products))
        free = [one for one in assignments if not names_in(one.targets[0]) & of_products]
        for _ in range(2):
            for one in free:
                self._learn(one)
        for target, call in products_of([*assignments]):
            layout = self.products[target]
            for at, (factor, is_turned) in enumerate(factors_of(call)):
                if self.known.get(factor) == ANY and factor not in self.loaded:
                    # What wgmma reads from memory may have any layout on its way there.
                    in_memory = at or is_turned
                    self.known[factor] = Layout(layout if in_memory else self.factors[layout])
        for one in reversed(free):
            self._learn(one)

    def _learn(self, one: ast.Assign) -> None:
        (target,) = one.targets
        if not isinstance(target, ast.Name) or target.id in self.loaded:
            return
        if is_dot(one.value):
            self.known[target.id] = Layout(self.products[target.id])
            return
        found, known = self.of(one.value), self.known.get(target.id)
        if known is None or known == ANY:
            self.known[target.id] = known = found or known
        if known is not None and known != ANY:
            self._demand(one.value, known)

    def _learn_store(self, statement: ast.stmt) -> None:
        """Let pointers, and what says which of them count, have the layout of what is stored."""
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="tl"), attr="store"),
                    args=[pointers, value],
                    keywords=words,
                )
            ):
                found = self.of(value)
                if found is not None and found != ANY:
                    for one in (pointers, *(word.value for word in words)):
                        self._demand(one, found)

    def of(self, tree: ast.expr) -> Found:
        """The layout of an expression."""
        match tree:
            case ast.Name(id=one):
                return ANY if one in self.loaded else self.known.get(one)
            case ast.Call(func=ast.Attribute(attr=function)) if function in MADE_OF_NUMBERS:
                return ANY
            case ast.Call(func=ast.Attribute(attr=function), args=[inner, *_]) if (
                function in REDUCTIONS and tree.keywords
            ) or function == "reduce":
                return self._reduced(tree, self.of(inner))
            case ast.Subscript(value=inner):
                found = self.of(inner)
                return Layout(found.base) if found else found
        parts = [(self.of(part), is_broadcast(part)) for part in operands(tree)]
        tiles = [found for found, is_thin in parts if found and found != ANY and not is_thin]
        thin = [found for found, _ in parts if found and found != ANY]
        return next(iter([*tiles, *thin, *(found for found, _ in parts if found)]), None)

    def _reduced(self, tree: ast.Call, found: Found) -> Found:
        if found is None or found == ANY:
            return found
        axis = ast.literal_eval(tree.keywords[0].value if tree.keywords else tree.args[1])
        return None if found.lost is not None else Layout(found.base, axis)

    def _demand(self, tree: ast.expr, wanted: Layout) -> None:
        """Let what has any layout have the one that its use wants."""
        match tree:
            case ast.Name(id=one):
                if self.known.get(one) == ANY:
                    self.known[one] = wanted
            case ast.Subscript(value=inner):
                self._demand(inner, unbroadcast(tree, wanted))
            case ast.Call(func=ast.Attribute(attr=function)) if function in (
                *MADE_OF_NUMBERS,
                *REDUCTIONS,
                "reduce",
            ):
                return
            case _:
                for part in operands(tree):
                    self._demand(part, wanted)

    def placed(self, tree: ast.expr, wanted: Found) -> ast.expr:
        """An expression in Gluon, in the layout that is wanted."""
        found = self.of(tree)
        if wanted is None or wanted == ANY:
            wanted = found
        match tree:
            case ast.Name(id=one) if one in self.loaded:
                if wanted is None or wanted == ANY:
                    raise UnsuitedError(f"`{one}` is read in no layout of a product")
                return expr("x.load(layout)", x=name(one), layout=wanted.tree)
            case ast.Name():
                return self._converted(copy_tree(tree), found, wanted)
            case ast.Constant():
                return copy_tree(tree)
            case ast.Call(func=ast.Attribute(attr=function)) if function in MADE_OF_NUMBERS:
                made = ast.Call(
                    _in_gluon(tree.func), _plain(tree.args), _plain_words(tree.keywords)
                )
                if wanted is not None and wanted != ANY:
                    made.keywords.append(ast.keyword("layout", wanted.tree))
                return made
            case ast.Call(func=ast.Attribute(attr=function), args=[inner]) if (
                function in REDUCTIONS and tree.keywords
            ):
                words = _plain_words(tree.keywords)
                made = ast.Call(_in_gluon(tree.func), [self.placed(inner, None)], words)
                return self._converted(made, found, wanted)
            case ast.Call(
                func=ast.Attribute(attr="reduce"), args=[inner, axis, ast.Name(id=combine)]
            ):
                given = [self.placed(inner, None), axis, name(f"{GLUON}{combine}")]
                return self._converted(ast.Call(_in_gluon(tree.func), given, []), found, wanted)
            case ast.Subscript(value=inner, slice=index):
                within = unbroadcast(tree, wanted) if wanted else None
                return ast.Subscript(self.placed(inner, within), copy_tree(index), ast.Load())
        return self._element_wise(tree, wanted)

    def _element_wise(self, tree: ast.expr, wanted: Found) -> ast.expr:
        match tree:
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.placed(left, wanted), op, self.placed(right, wanted))
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.placed(operand, wanted))
            case ast.Compare(left=left, ops=ops, comparators=others):
                compared = [self.placed(one, wanted) for one in others]
                return ast.Compare(self.placed(left, wanted), ops, compared)
            case ast.Call(func=ast.Name(id="float"), args=args):
                return ast.Call(name("float"), _plain(args), [])
            case ast.Call(func=ast.Attribute(value=owner, attr=function)) if function in (
                ELEMENTWISE
            ):
                args, words = tree.args, tree.keywords
                if not _is_tl(owner) and function == "load":
                    raise UnsuitedError(f"`{ast.unparse(tree)}` is loaded within an expression")
                if not _is_tl(owner):
                    method = ast.Attribute(self.placed(owner, wanted), function, ast.Load())
                    return ast.Call(method, _plain(args), _plain_words(words))
                placed = [self.placed(one, wanted) for one in args]
                named = [ast.keyword(one.arg, self.placed(one.value, wanted)) for one in words]
                return ast.Call(_in_gluon(tree.func), placed, named)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="libdevice"))):
                own = [self.placed(one, wanted) for one in tree.args]
                return ast.Call(copy_tree(tree.func), own, [])
            case ast.Attribute() | ast.List() | ast.Tuple():
                return _in_gluon(tree)
        raise UnsuitedError(f"`{ast.unparse(tree)}` has no form in Gluon here")

    def _converted(self, tree: ast.expr, found: Found, wanted: Found) -> ast.expr:
        if found is None or wanted is None or found == wanted or wanted == ANY:
            return tree
        if found == ANY:
            return expr("gl.set_auto_layout(x, layout)", x=tree, layout=wanted.tree)
        return expr("gl.convert_layout(x, layout)", x=tree, layout=wanted.tree)


def operands(tree: ast.expr) -> Iterator[ast.expr]:
    """What an element-wise expression is made of."""
    match tree:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Call(func=func, args=args, keywords=words):
            if isinstance(func, ast.Attribute) and not _is_module(func.value):
                yield func.value
            yield from args
            yield from (one.value for one in words)


def is_broadcast(tree: ast.expr) -> bool:
    """Whether a tile has an extent of 1 that its use makes longer."""
    match tree:
        case ast.Subscript():
            return True
        case ast.BinOp() | ast.UnaryOp() | ast.Call():
            parts = [one for one in operands(tree) if not isinstance(one, ast.Constant)]
            return bool(parts) and all(map(is_broadcast, parts))
    return False


def unbroadcast(tree: ast.Subscript, wanted: Layout) -> Layout:
    """The layout of `x` with which `x[:, None]` has the layout that is wanted."""
    if wanted == ANY:
        return ANY
    match tree.slice:
        case ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None)]):
            return Layout(wanted.base, 1)
        case ast.Tuple(elts=[ast.Constant(value=None), ast.Slice()]):
            return Layout(wanted.base, 0)
    raise UnsuitedError(f"`{ast.unparse(tree)}` is no row and no column")


def every(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a block, in order."""
    for statement in body:
        yield statement
        match statement:
            case ast.For(body=inner) | ast.If(body=inner, orelse=[]):
                yield from every(inner)


def dependents(body: list[ast.stmt], names: set[str], others: Set[str] = frozenset()) -> set[str]:
    """All names but `others` whose values depend on these, other than by how far a loop goes."""
    found = set(names)
    while True:
        before = len(found)
        for statement in every(body):
            match statement:
                case ast.Assign(targets=[target], value=value):
                    if names_in(value) & found:
                        found |= names_in(target) - others
        if len(found) == before:
            return found


def in_gluon(tree: ast.expr) -> ast.expr:
    """An expression of numbers in Gluon."""
    return _in_gluon(tree)


def _is_module(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id in ("tl", "libdevice")


def _is_tl(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id == "tl"


def _in_gluon(tree: ast.expr) -> ast.expr:
    made = copy_tree(tree)
    for node in ast.walk(made):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.swizzle2d":
            # The module makes a function of Gluon of Triton's.
            node.func = name("swizzle2d")
        elif isinstance(node, ast.Name) and node.id == "tl":
            node.id = "gl"
    for node in ast.walk(made):
        match node:
            case ast.Attribute(value=ast.Name(id="gl") as module, attr="PropagateNan"):
                # Gluon takes Triton's.
                module.id = "tl"
    return made


def _plain(trees: list[ast.expr]) -> list[ast.expr]:
    return [_in_gluon(one) for one in trees]


def _plain_words(words: list[ast.keyword]) -> list[ast.keyword]:
    return [ast.keyword(one.arg, _in_gluon(one.value)) for one in words]
