"""Whole operands: their extents, and what each of their elements is."""

import ast
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from rewrites.dtypes import BY_NAME, is_float
from rewrites.errors import RewriteError, refuse
from rewrites.operands.online import identity
from rewrites.operands.sizes import Sizes
from rewrites.operands.terms import UNNAMED, Axis, Extent, Number, Size, Term, Terms

ONE = Size(1)
Indices = tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Whole:
    """A whole operand. `dtype` is what it is stored as; floats are computed as float32.

    `at` gives the term of the element at some indices; a dimension of extent 1 has the index 0.
    """

    shape: tuple[Size, ...]
    dtype: str
    at: Callable[[Indices], Term]
    name: str = ""
    # The parameter that it is, where it is memory of the caller's.
    tensor: str = ""
    # The operands that stand one after the other along a dimension.
    parts: "tuple[Whole, ...]" = ()
    along: int = 0
    # How it was reduced over the tiles of a loop, each of which gives a part of it.
    partial: str = ""

    def __post_init__(self) -> None:
        # What several others are made of is asked for each element once, not once on each way.
        if not hasattr(self.at, "cache_info"):
            object.__setattr__(self, "at", functools.cache(self.at))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def shape_text(self) -> str:
        sizes = [str(size) for size in self.shape]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


Operand = Whole | Number


@dataclass
class Making:
    """What making values needs: the terms, which extents are one, and where the program stands."""

    terms: Terms = field(default_factory=Terms)
    sizes: Sizes = field(default_factory=Sizes)
    node: ast.AST = field(default_factory=ast.AST)
    # By the name of an extent and a number: the extent of which so many share one.
    shared: dict[tuple[str, int], Size] = field(default_factory=dict)
    # What extents may be called, the best first, by what they are used as.
    suggested: dict[str, tuple[str, ...]] = field(default_factory=dict)

    # The stages of the loops that compute what is assigned here; 0: nothing is said of them.
    stages: int = 0
    # How long the tiles are in which a program runs over an extent, where it says so.
    tiles: dict[str, int] = field(default_factory=dict)
    said_names: set[str] = field(default_factory=set)
    # Whether Python was given the extents of an operand as numbers.
    is_shape_read: bool = False

    @property
    def fixed(self) -> set[str]:
        """Extents whose values have decided something."""
        return self.sizes.fixed

    def suggest(self, size: Size, *names: str, is_said: bool = False) -> None:
        """Propose names for an extent; those of an annotation win, then the first."""
        first = self.sizes.name_of(size.name)
        if first and (is_said or first not in self.suggested):
            self.suggested[first] = names
        if is_said:
            self.said_names.add(first)

    def refuse(
        self, code: str, message: str, found: tuple[str, ...] = (), hint: str = ""
    ) -> RewriteError:
        return refuse(self.node, code, message, found, hint)

    # Leaves.

    def tensor(self, name: str, shape: tuple[Size, ...], dtype: str) -> Whole:
        """A tensor in memory."""
        self.terms.extents |= {(name, at): size for at, size in enumerate(shape)}

        def at(indices: Indices) -> Term:
            return self.computed(self.terms.load(name, indices, dtype))

        return Whole(shape, dtype, at, name, tensor=name)

    def full(self, shape: tuple[Size, ...], value: Number, dtype: str) -> Whole:
        return Whole(shape, dtype, lambda indices: self.terms.number(value))

    def positions(self, shape: tuple[Size, ...], dimension: int) -> Whole:
        """Each element is its own index in one dimension."""
        return Whole(shape, "int32", lambda indices: indices[dimension])

    def computed(self, term: Term) -> Term:
        """A term as what is computed with: floats of fewer bits as float32."""
        if is_float(term.dtype) and BY_NAME[term.dtype].bits < 32:
            return self.terms.cast(term, "float32")
        return term

    def stored(self, term: Term, dtype: str) -> Term:
        """A term rounded to a type of memory, or as it was before it was made wider."""
        if term.kind == "cast" and term.operands[0].dtype == dtype:
            return term.operands[0]
        return self.terms.cast(term, dtype, "rounded")

    def cast(self, operand: Whole, dtype: str) -> Whole:
        """The operand rounded to a type."""

        def at(indices: Indices) -> Term:
            term = operand.at(indices)
            if term.kind == "cast" and term.operands[0].dtype == dtype == operand.dtype:
                return term
            return self.computed(self.terms.cast(term, dtype))

        return Whole(operand.shape, dtype, at)

    def as_integer(self, operand: Whole, dtype: str) -> Whole:
        """An operand that meets others of other types as integers of this type."""
        is_same = is_float(dtype) or operand.dtype == dtype
        return operand if is_same else self.cast(operand, dtype)

    # Element by element.

    def pointwise(self, operator: str, *operands: Operand, dtype: str = "") -> Whole:
        """An operator of elements, on operands that are broadcast to one shape as NumPy does.

        Without `dtype` it is that of the operands, where a Python number takes the others' kind.
        """
        shape = self.broadcast(operands)
        kept = dtype or self.promoted(operands)

        common = self._common_integer(operands)

        def at(indices: Indices) -> Term:
            terms = tuple(self.element(operand, indices) for operand in operands)
            if common and operator in _MIXING:
                terms = tuple(
                    self.terms.cast(term, common) if isinstance(one, Whole) else term
                    for term, one in zip(terms, operands, strict=True)
                )
            return self.terms.apply(operator, terms, self.dtype_of(operator, kept, terms))

        made = Whole(shape, kept, at)
        joined = next((one for one in operands if isinstance(one, Whole) and one.parts), None)
        return made if joined is None else self._in_parts(made, joined, operator, operands)

    def _in_parts(
        self, made: Whole, joined: Whole, operator: str, operands: Sequence[Operand]
    ) -> Whole:
        """What is computed of joined operands is joined of what is computed of their parts."""
        behind = joined.rank - joined.along
        for one in operands:
            if not isinstance(one, Whole) or one.rank < behind:
                continue
            is_alike = [part.shape[-behind] for part in one.parts] == [
                part.shape[-behind] for part in joined.parts
            ] and one.rank - one.along == behind
            if not is_alike and one.shape[-behind] != ONE:
                return made
        parts = tuple(
            self.pointwise(
                operator,
                *(
                    one.parts[at] if isinstance(one, Whole) and one.parts else one
                    for one in operands
                ),
                dtype=made.dtype,
            )
            for at in range(len(joined.parts))
        )
        return replace(made, parts=parts, along=made.rank - behind)

    def _common_integer(self, operands: Sequence[Operand]) -> str:
        """The type in which integers of several kinds meet, for elements know no signs of others'.

        Those of one kind need none.
        """
        dtypes = {operand.dtype for operand in operands if isinstance(operand, Whole)}
        if len({BY_NAME[dtype].kind for dtype in dtypes}) < 2 and dtypes != {"bool"}:
            return ""
        common = self.promoted(operands)
        return common if BY_NAME[common].kind in ("int", "uint") else ""

    def dtype_of(self, operator: str, dtype: str, operands: tuple[Term, ...]) -> str:
        """The type in which an operator computes what is stored as `dtype`."""
        if is_float(dtype) and BY_NAME[dtype].bits < 32:
            return "float32"
        return dtype

    def element(self, operand: Operand, indices: Indices) -> Term:
        """The element of an operand that stands at these indices of a shape it is broadcast to."""
        if isinstance(operand, Extent):
            return self.terms.size(operand.size)
        if not isinstance(operand, Whole):
            return self.terms.number(operand)
        own = indices[len(indices) - operand.rank :]
        zero = self.terms.number(0)
        return operand.at(
            tuple(
                zero if size == ONE else index
                for size, index in zip(operand.shape, own, strict=True)
            )
        )

    def broadcast(self, operands: Sequence[Operand]) -> tuple[Size, ...]:
        wholes = [self.complete(operand) for operand in operands if isinstance(operand, Whole)]
        rank = max((whole.rank for whole in wholes), default=0)
        shape = [ONE] * rank
        for whole in wholes:
            for at, size in enumerate(whole.shape, rank - whole.rank):
                if shape[at] == ONE:
                    shape[at] = size
                elif size != ONE and shape[at].tile != size.tile:
                    raise self.refuse(
                        "T2T855",
                        "tiles of a loop meet an operand that has the whole extent",
                        tuple(f"{self.said(one)}: {one.shape_text}" for one in wholes),
                        "take a tile of it: T.copy(x[..., i:i + tile_size, :])",
                    )
                elif size != ONE and not self.sizes.same(shape[at], size):
                    raise self.refuse(
                        "T2T801",
                        "these operands do not have one shape",
                        tuple(f"{self.said(one)}: {one.shape_text}" for one in wholes),
                        "extents are compared from the last one; they are equal, or one is 1",
                    )
        return tuple(shape)

    def promoted(self, operands: Sequence[Operand]) -> str:
        """The type of a result: the widest of the tensors', as torch has it."""
        dtypes = [operand.dtype for operand in operands if isinstance(operand, Whole)]
        numbers = [operand for operand in operands if not isinstance(operand, Whole)]
        if not dtypes:
            return "float32" if any(isinstance(one, float) for one in numbers) else "int32"
        result = dtypes[0]
        for dtype in dtypes[1:]:
            wider = _wider(result, dtype)
            if not wider:
                raise self.refuse(
                    "T2T864",
                    f"no type of integers holds all of {result} and of {dtype}",
                    tuple(f"{self.said(one)}: {one.dtype}" for one in operands if is_whole(one)),
                    'convert one of them before: x.to("int64")',
                )
            result = wider
        if result == "bool" and any(type(one) is not bool for one in numbers):
            result = "int64"
        is_fraction = any(isinstance(one, float) for one in numbers)
        return "float32" if is_fraction and not is_float(result) else result

    def whole(self, operand: Operand, what: str) -> Whole:
        """An operand that must be a whole one."""
        if not isinstance(operand, Whole):
            raise self.refuse(
                "T2T807", f"{what} takes a whole operand, but is given the number {operand!r}"
            )
        return self.complete(operand)

    def complete(self, operand: Whole) -> Whole:
        """An operand that is no part of a reduction over all turns of a loop."""
        if operand.partial:
            raise self.of_tiles("what is reduced over a tile of a loop")
        return operand

    def of_tiles(self, what: str) -> RewriteError:
        """An error: what depends on where the tiles of a loop end."""
        return self.refuse(
            "T2T855",
            f"{what} depends on the size of the tiles",
            hint="a loop over tiles is the whole extent: add what is reduced to a total, "
            "s = s + T.sum(x, axis), carry a recurrence, h = a * h + b, or write this outside of "
            "the loop",
        )

    def dimension(self, operand: Whole, axis: int) -> int:
        """The number of a dimension, counted from the first."""
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise self.refuse(
                "T2T808",
                f"an axis is a whole number, not {axis!r}",
                (f"{self.said(operand)}: {operand.shape_text}",),
                "write axis=-1",
            )
        if not -operand.rank <= axis < operand.rank:
            raise self.refuse(
                "T2T808",
                f"there is no axis {axis} in an operand of {operand.rank} dimensions",
                (f"{self.said(operand)}: {operand.shape_text}",),
            )
        return axis % operand.rank

    def dimensions(self, operand: Whole, axis: int | tuple[int, ...] | None) -> list[int]:
        """The numbers of one dimension, of several, or of all."""
        if axis is None:
            return list(range(operand.rank))
        several = axis if isinstance(axis, tuple) else (axis,)
        return sorted({self.dimension(operand, one) for one in several})

    def count(self, operand: Whole, axis: int | tuple[int, ...] | None) -> Whole:
        """How many elements there are along dimensions."""
        sizes = [operand.shape[at] for at in self.dimensions(operand, axis)]
        counts = [self.extent(size) for size in sizes if size != ONE] or [self.extent(ONE)]
        return functools.reduce(lambda one, other: self.pointwise("*", one, other), counts)

    def extent(self, size: Size) -> Whole:
        """An extent as a scalar operand."""
        return Whole((), "int32", lambda indices: self.terms.size(size))

    def are_same(self, left: Size, right: Size) -> bool:
        """Whether two extents of one value are one, which different names of the user's deny."""
        names = {self.sizes.name_of(size.name) for size in (left, right)}
        if len(names) == 2 and names <= self.said_names:
            return False
        return self.sizes.same(left, right)

    def is_said(self, size: Size) -> bool:
        """Whether the user gave an extent its name."""
        return self.sizes.name_of(size.name) in self.said_names

    def batch(self, operand: Whole, lead: Indices, groups: Collection[int] = ()) -> Indices:
        """The batch indices of an operand of a GEMM; those in `groups` are shared by several."""
        made: list[Term] = []
        rank = operand.rank - 2
        for at in range(rank, 0, -1):
            size = operand.shape[rank - at]
            index = lead[len(lead) - at]
            if size == ONE:
                index = self.terms.number(0)
            elif at in groups:
                (axis,) = index.axes
                self.fixed.update({axis.size.name, size.name})
                ratio = self.terms.number(axis.size.value // size.value)
                index = self.terms.apply("//", (index, ratio), "int32")
            made.append(index)
        return tuple(made)

    def said(self, operand: Operand) -> str:
        """What to call an operand in a message."""
        return (operand.name or "a value") if isinstance(operand, Whole) else repr(operand)

    # Over whole extents.

    def reduced(
        self, how: str, operand: Whole, dimensions: Sequence[int], keepdims: bool, dtype: str = ""
    ) -> Whole:
        """A reduction over dimensions; each runs over an axis of its own."""
        if operand.parts and list(dimensions) == [operand.along]:
            # Of what is joined, the parts are combined.
            parts = [self.reduced(how, one, dimensions, keepdims, dtype) for one in operand.parts]
            symbol = "+" if how == "sum" else f"T.{how}"
            return functools.reduce(lambda one, other: self.pointwise(symbol, one, other), parts)
        kept = sorted(set(range(operand.rank)) - set(dimensions))
        shape = tuple(
            ONE if at in dimensions else size
            for at, size in enumerate(operand.shape)
            if keepdims or at not in dimensions
        )

        def at(indices: Indices) -> Term:
            own = list(indices)
            if not keepdims:
                own = [self.terms.number(0)] * operand.rank
                for place, index in zip(kept, indices, strict=True):
                    own[place] = index
            axes: list[Axis] = []
            for place in dimensions:
                if operand.shape[place] == ONE:
                    continue
                axis = free_axis(operand.shape[place], [*own, *map(self.terms.position, axes)])
                own[place] = self.terms.position(axis)
                axes.append(axis)
            term = operand.at(tuple(own))
            for axis in reversed(axes):
                term = self._over(how, axis, term, dtype or term.dtype)
            return term

        is_partial = any(operand.shape[place].tile for place in dimensions)
        made = Whole(shape, dtype or operand.dtype, at, partial=how if is_partial else "")
        if any(operand.shape[place].value == 0 for place in dimensions):
            # Of nothing, it is what changes no result.
            self.fixed.update(operand.shape[place].name for place in dimensions)
            nothing = self.terms.number(identity(how, made.dtype))
            return replace(made, at=lambda indices: nothing)
        return made

    def _over(self, how: str, axis: Axis, term: Term, dtype: str) -> Term:
        """A reduction over an axis; what is the same all along it needs none."""
        if axis in term.axes:
            return self.terms.reduce(how, axis, term, dtype)
        term = self.terms.cast(term, dtype)
        if how != "sum":
            return term
        return self.terms.apply("*", (term, self.terms.size(axis.size)), dtype)

    def hinted(self, whole: Whole, name: str) -> Whole:
        """The operand with a name to go by where the user gives it none."""

        def at(indices: Indices) -> Term:
            term = whole.at(indices)
            if term.kind not in UNNAMED and not term.hints:
                term.hints.append(name)
            return term

        return replace(whole, at=at)

    def renamed(self, whole: Any, name: str) -> Any:
        """The operand under the name that the user gives it; what is no operand stays."""
        if not isinstance(whole, Whole):
            return whole
        node, stages = self.node, self.stages

        def at(indices: Indices) -> Term:
            term = whole.at(indices)
            if term.kind not in UNNAMED and not term.names:
                term.names.append(name)
                term.nodes.append(node)
                term.stages.append(stages)
            return term

        parts = tuple(self.renamed(part, name) for part in whole.parts)
        return replace(whole, at=at, name=name, parts=parts)


def free_axis(size: Size, indices: Sequence[Term]) -> Axis:
    """The first axis of an extent that no index uses."""
    used = {axis for index in indices for axis in index.axes}
    size = replace(size, tile=0)
    serial = 0
    while Axis(size, serial, True) in used:
        serial += 1
    return Axis(size, serial, True)


def axes_of_output(shape: Sequence[Size]) -> Iterator[Axis | None]:
    """An axis for each extent of an output; None for extents of 1."""
    for serial, size in enumerate(shape):
        yield None if size == ONE else Axis(size, serial, False)


def is_whole(operand: Any) -> TypeGuard[Whole]:
    """Whether an operand is no number."""
    return isinstance(operand, Whole)


# Operators whose operands are of one type.
_MIXING = (*"+-*/%&|^", "//", "<<", ">>", "<", "<=", ">", ">=", "==", "!=")
_MIXING += ("T.max", "T.min", "T.maximum", "T.minimum")


def _wider(left: str, right: str) -> str:
    """The type that holds both, as torch promotes; "" where there is none.

    Floats are above integers, float16 and bfloat16 make float32, and integers of which some have a
    sign get a bit for it.
    """
    a, b = BY_NAME[left], BY_NAME[right]
    if left == right or b.kind == "bool":
        return left
    if a.kind == "bool":
        return right
    if a.kind != b.kind and "float" in (a.kind, b.kind):
        return left if a.kind == "float" else right
    if a.kind == b.kind:
        if a.bits == b.bits:
            return "float32"
        return left if a.bits > b.bits else right
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    bits = max(signed.bits, 2 * unsigned.bits)
    return f"int{bits}" if bits <= 64 else ""
