"""Linear maps over GF(2): what every layout of powers of two is, as its values at powers of two.

The index along each input is read as bits, and the image of an index is the XOR of the images of
its bits. "register", "lane", "warp" and "block" go to coordinates of a tensor, "offset" and
"block" likewise, and after `after_inverse_of` the first ones go to an offset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .bits import solver
from .errors import layout_error

Basis: TypeAlias = tuple[int, ...]
Bases: TypeAlias = tuple[Basis, ...]
Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class LinearLayout:
    """`inputs` are names with the images of 1, 2, 4, …; `outputs` are names with sizes."""

    inputs: tuple[tuple[str, Bases], ...]
    outputs: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        for name, size in self.outputs:
            if not is_power_of_two(size):
                raise layout_error(
                    "T2T920",
                    "sizes of layouts are powers of two",
                    f"{name} of size {size}",
                )
        lengths = {len(basis) for _, bases in self.inputs for basis in bases}
        assert lengths <= {len(self.outputs)}, "bases have a number for each output"

    def bases(self, name: str) -> Bases:
        """The images of 1, 2, 4, … along an input; none where there is no such input."""
        return dict(self.inputs).get(name, ())

    def input_size(self, name: str) -> int:
        return 1 << len(self.bases(name))

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    def output_size(self, name: str) -> int:
        return dict(self.outputs)[name]

    def __call__(self, **indices: Any) -> tuple[Indices, ...]:
        """The images of whole ranges of indices, which broadcast; inputs left out are 0."""
        arrays = {name: np.asarray(index, dtype=np.int64) for name, index in indices.items()}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        results = [np.zeros(shape, dtype=np.int64) for _ in self.outputs]
        for name, array in arrays.items():
            for bit, basis in enumerate(self.bases(name)):
                chosen = array >> bit & 1
                for result, value in zip(results, basis, strict=True):
                    result ^= chosen * value
        return tuple(results)

    def table(self) -> tuple[Indices, ...]:
        """The images of all indices, one array an output, with one axis an input."""
        axes = np.ix_(*(np.arange(1 << len(bases)) for _, bases in self.inputs))
        return self(**dict(zip(self.input_names, axes, strict=True)))

    def __mul__(self, other: "LinearLayout") -> "LinearLayout":
        """The product: `other` counts on, in inputs and outputs, where this one ends."""
        names = merged(self.output_names, other.output_names)
        mine, its = dict(self.outputs), dict(other.outputs)
        shifted = {
            name: tuple(
                tuple(
                    basis[other.output_names.index(output)] * mine.get(output, 1)
                    if output in its
                    else 0
                    for output in names
                )
                for basis in bases
            )
            for name, bases in other.inputs
        }
        kept = {
            name: tuple(basis + (0,) * (len(names) - len(basis)) for basis in bases)
            for name, bases in self.inputs
        }
        return LinearLayout(
            tuple(
                (name, kept.get(name, ()) + shifted.get(name, ()))
                for name in merged(self.input_names, other.input_names)
            ),
            tuple((name, mine.get(name, 1) * its.get(name, 1)) for name in names),
        )

    def with_outputs(self, names: Iterable[str]) -> "LinearLayout":
        """The same map with its outputs in another order."""
        order = tuple(names)
        places = [self.output_names.index(name) for name in order]
        return self.with_bases(
            {
                name: tuple(tuple(basis[place] for place in places) for basis in bases)
                for name, bases in self.inputs
            },
            tuple((name, self.output_size(name)) for name in order),
        )

    def with_bases(
        self, bases: Mapping[str, Bases], outputs: tuple[tuple[str, int], ...] | None = None
    ) -> "LinearLayout":
        """The same map with other images along some inputs."""
        return LinearLayout(
            tuple((name, bases.get(name, mine)) for name, mine in self.inputs),
            self.outputs if outputs is None else outputs,
        )

    def without(self, output: str) -> "LinearLayout":
        """The same map with one output left out."""
        return self.with_outputs(name for name in self.output_names if name != output)

    def at_least(self, shape: Mapping[str, int]) -> "LinearLayout":
        """Repeat along the first input until each output is as large as in `shape`."""
        result, first = self, self.input_names[0]
        for name in self.output_names:
            size = result.output_size(name)
            result *= identity(max(1, shape[name] // size), first, name)
        return result

    def at_most(self, shape: Mapping[str, int]) -> "LinearLayout":
        """Cut off what is outside of `shape`: indices there get the elements of others."""
        bases = {name: [list(basis) for basis in mine] for name, mine in self.inputs}
        for place, output in enumerate(self.output_names):
            for basis in (basis for mine in bases.values() for basis in mine):
                if basis[place] >= shape[output]:
                    basis[place] = 0
        return self.with_bases(
            {name: tuple(map(tuple, mine)) for name, mine in bases.items()},
            tuple((name, min(size, shape[name])) for name, size in self.outputs),
        )

    def packed(self, basis: Basis) -> int:
        """The bits of an image in one number, the first output lowest."""
        number, at = 0, 0
        for value, (_, size) in zip(basis, self.outputs, strict=True):
            number |= value << at
            at += size.bit_length() - 1
        return number

    def after_inverse_of(self, storage: "LinearLayout") -> "LinearLayout":
        """Where `storage` keeps the elements of this map: its inputs to those of `storage`.

        Of several places that hold one element, the lowest is given. Raises LayoutError where
        `storage` lacks an element.
        """
        places = storage.with_outputs(self.output_names)
        columns = [
            (places.packed(basis), 1 << bit, name)
            for name, bases in places.inputs
            for bit, basis in enumerate(bases)
        ]
        outputs = tuple((name, 1 << len(bases)) for name, bases in places.inputs)
        names = [name for name, _ in outputs]
        combination = solver([image for image, _, _ in columns])

        def place(basis: Basis) -> Basis:
            wanted = self.packed_as(places, basis)
            chosen = combination(wanted)
            if chosen is None:
                raise layout_error(
                    "T2T922",
                    "the layout in memory has no place for an element",
                    f"element {list(basis)}",
                )
            result = [0] * len(names)
            for number, (_, value, name) in enumerate(columns):
                if chosen >> number & 1:
                    result[names.index(name)] |= value
            return tuple(result)

        return LinearLayout(
            tuple((name, tuple(map(place, bases))) for name, bases in self.inputs), outputs
        )

    def packed_as(self, other: "LinearLayout", basis: Basis) -> int:
        """The bits of an image as `other` packs them, which has the same outputs."""
        if self.outputs != other.outputs:
            raise layout_error(
                "T2T923",
                "two layouts that should be of one tensor have different shapes",
                *(str(dict(one.outputs)) for one in (self, other)),
            )
        return other.packed(basis)


def merged(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def bits_of(size: int) -> range:
    """The numbers of the bits of indices below `size`."""
    if not is_power_of_two(size):
        raise layout_error("T2T920", "sizes of layouts are powers of two", f"size {size}")
    return range(size.bit_length() - 1)


def identity(size: int, source: str, output: str) -> LinearLayout:
    """Count along an input as along the output."""
    bases = tuple((1 << bit,) for bit in bits_of(size))
    return LinearLayout(((source, bases),), ((output, size),))


def zeros(size: int, source: str, output: str) -> LinearLayout:
    """All indices along an input have the same element."""
    return LinearLayout(((source, ((0,),) * len(bits_of(size))),), ((output, 1),))


def identities(
    shape: Iterable[int], source: str, order: Iterable[int], constant: int | None = None
) -> LinearLayout:
    """Count along an input through dimensions in `order`; all share what `constant` has."""
    sizes = tuple(shape)
    result = LinearLayout(((source, ()),), ())
    for axis in order:
        piece = zeros if axis == constant else identity
        result *= piece(sizes[axis], source, f"dim{axis}")
    return result
