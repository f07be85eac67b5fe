"""What the tree cannot say: shapes, dtypes, constants, launches and the operator table."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rewrites.schedule import Schedule

Number = int | float | bool


@dataclass(frozen=True)
class Tensor:
    """A global tensor: parameter, output or workspace. `shape` holds trees over constants and dims.

    `role` is "input" (a parameter the caller passes), "output" (allocated by the launcher and
    returned), "workspace" (allocated by the launcher, not returned), "view" (the memory of the
    tensor `base`, seen with another shape or type) or "pointer" (memory at an address that the
    kernel computes). `strides` are in elements; without them a tensor is contiguous.
    """

    name: str
    shape: tuple[ast.expr, ...]
    dtype: str
    role: str = "input"
    base: str = ""
    strides: tuple[ast.expr, ...] = ()
    # Of an output that is only allocated: the names of its type in torch, the best one first.
    made_as: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def storage(self) -> str:
        """The tensor whose memory it is."""
        return self.base or self.name


@dataclass(frozen=True)
class Equation:
    """What gives a run-time size that is no extent by itself: extent == factor * size + rest."""

    factor: int
    rest: ast.expr


@dataclass(frozen=True)
class Tile:
    """An on-chip tile. `shape` is in elements, `trees` says each extent as the user wrote it.

    A view has no memory of its own: it is that of the tile `base`, with another shape or type.
    """

    name: str
    shape: tuple[int, ...]
    trees: tuple[ast.expr, ...]
    dtype: str
    scope: str  # "shared" or "fragment"
    base: str = ""
    # How the values of a reducer combine: "sum", "max", … Empty for other tiles.
    op: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def storage(self) -> str:
        """The tile whose memory it is."""
        return self.base or self.name

    @property
    def is_scalar(self) -> bool:
        """A tile of one element in one dimension is kept as a scalar in Triton."""
        return self.shape == (1,)


@dataclass(frozen=True)
class Descriptor:
    """A TMA descriptor that the launcher makes.

    `name` is the kernel parameter. `order` gives the tensor's dimensions in the descriptor's order,
    and `block` the block's extents in that order.
    """

    name: str
    tensor: str
    order: tuple[int, ...]
    block: tuple[ast.expr, ...]


@dataclass
class Launch:
    """One `T.Kernel` block: the Triton kernel's name and everything a launch of it needs.

    `arguments` are run-time arguments in order (tensors, descriptors, dims, scalars);
    `constants` are the named `tl.constexpr` parameters after them. `grid` holds trees that are
    valid in the emitted launcher (Python and `triton.cdiv`), in the order x, y, z.
    """

    kernel: str
    grid: tuple[ast.expr, ...] = ()
    arguments: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    num_warps: int = 4
    num_stages: int = 1
    descriptors: tuple[Descriptor, ...] = ()
    # Further options of the launch, by Triton's names.
    options: dict[str, int] = field(default_factory=dict)
    # What the kernel is written in: "triton" or "gluon".
    language: str = "triton"
    # Tensors that kernels in Gluon for AMD copy from.
    copied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Erasure:
    """A hint or protocol of the user's that the Triton lacks, and why its meaning is still there.

    `construct` is how the user wrote it; `line` is in `filename`, or in the kernel's own file where
    that is empty.
    """

    construct: str
    line: int
    reason: str
    filename: str = ""


Argument = int | str | bool | tuple[int | str, ...]


@dataclass(frozen=True)
class Patch:
    """An edit of what Triton compiles a kernel to, for a hint that its language cannot say.

    `kind` names a file in `tile2triton/ttgir/patches/`. `anchor` is the variable of the emitted
    kernel that holds what is loaded or multiplied; Triton keeps that name beside each operation. It
    is empty for patches of a kernel as a whole.
    `construct` is how the user wrote the hint, empty for a patch that nobody asked for; `line` is
    in `filename`, or in the kernel's own file where that is empty.
    """

    kind: str
    anchor: str
    kernel: str
    construct: str
    line: int
    arguments: tuple[tuple[str, Argument], ...] = ()
    filename: str = ""


@dataclass(frozen=True)
class Claim:
    """What compiled code must show where a hint is applied.

    `kind` is "warps": those of a product along its rows and columns; "bytes": that a thread moves
    so many at once; "asynchronous": copies that no thread waits for; or "swizzled": a tile whose
    rows are permuted in shared memory, in parts of so many elements, so many phases, and so many
    rows of each if numbers say it.
    """

    kind: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class HintOutcome:
    """What became of one hint on one target.

    `how` is "native" (Triton's language says it), "patch" (a patch of what it compiles to) or
    "none"; `detail` says what was written or patched, or why nothing was. `kernels` are those that
    the hint is of.
    """

    construct: str
    line: int
    target: str
    how: str
    detail: str
    filename: str = ""
    claim: Claim | None = None
    # What the program calls the tiles and tensors that the hint names.
    names: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrittenHint:
    """A hint that leaves no statement in the tree.

    `operator` is its name, `arguments` what it was given, as plain data, and `kernel_line` the line
    of its T.Kernel; `line` is in `filename`, or in the kernel's own file where that is empty.
    """

    operator: str
    construct: str
    line: int
    arguments: Mapping[str, Any]
    kernel_line: int = 0
    filename: str = ""


@dataclass(frozen=True)
class HintRequest:
    """A hint that lowering could not settle, since it is of a whole kernel or needs a patch.

    `kind` is a launch option of Triton's or a kind of patch, `block` the number of the T.Kernel
    block; `anchor` is the variable of the emitted kernel that a patch is for.
    """

    kind: str
    construct: str
    line: int
    block: int
    anchor: str = ""
    arguments: tuple[tuple[str, Argument], ...] = ()
    filename: str = ""
    names: tuple[str, ...] = ()


class Operator(Protocol):
    """What rewrites may ask of an operator; the table itself lives in `tile2triton.ops`."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def writes(self) -> str: ...
    @property
    def keeps(self) -> Callable[..., bool]: ...
    @property
    def width(self) -> int: ...
    @property
    def check(self) -> Callable[..., Any]: ...
    @property
    def lower(self) -> Callable[..., Any] | None: ...

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """The call's arguments by parameter name, defaults filled in."""


@dataclass
class Facts:
    """The record beside the tree. Names are those of the tree; all of them are unique."""

    name: str
    filename: str = "<kernel>"
    # The launcher's parameters in the user's order: input tensors and scalar parameters.
    parameters: tuple[str, ...] = ()
    # Named values that Python computed: tile sizes, static dims, scales. In order of first use.
    constants: dict[str, Number] = field(default_factory=dict)
    # Structural values that were folded away (flags, dtypes), for the header: name -> repr.
    settings: dict[str, str] = field(default_factory=dict)
    # Run-time sizes and where the launcher reads them: name -> (tensor, axis).
    dims: dict[str, tuple[str, int]] = field(default_factory=dict)
    # Those whose extent there is a sum, in an order in which they can be solved for.
    equations: dict[str, Equation] = field(default_factory=dict)
    # What is said of how the program is run on this target, and what holds where nothing is said.
    schedule: Schedule = field(default_factory=Schedule)
    templates: Mapping[str, Schedule] = field(default_factory=dict)
    # Extents of whole operands that annotations name.
    named_sizes: frozenset[str] = frozenset()
    # Extents of whole operands that are to be read at the launch, where no tile holds them whole.
    free_sizes: frozenset[str] = frozenset()
    # Extents of whole operands whose values Python's own numbers depend on.
    fixed_sizes: frozenset[str] = frozenset()
    # Those that are read from strides: name -> (tensor, axis).
    strides: dict[str, tuple[str, int]] = field(default_factory=dict)
    # Scalar parameters that are addresses: a launch may give a tensor in their place.
    pointers: tuple[str, ...] = ()
    # Scalar parameters and dims: name -> dtype.
    scalars: dict[str, str] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    tiles: dict[str, Tile] = field(default_factory=dict)
    # `b = T.alloc_barrier(counts)`: name -> how many threads arrive at each, until they are erased.
    barriers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # `x = T.alloc_var(dtype)`: name -> dtype.
    variables: dict[str, str] = field(default_factory=dict)
    # Variables that count as a loop does: name -> (start, stop, step), inside of the loop.
    counters: dict[str, tuple[ast.expr, ast.expr, int]] = field(default_factory=dict)
    # Outputs in the order in which they are returned.
    outputs: tuple[str, ...] = ()
    # The tensors that a program on whole operands stores what it computes to, in that order.
    stored: tuple[str, ...] = ()
    launches: list[Launch] = field(default_factory=list)
    target: str = "cuda:90"
    # Bytes that a program may have there.
    shared_memory: int = 227 * 1024
    # How many programs run at once there.
    multiprocessors: int = 132
    operators: Mapping[str, Operator] = field(default_factory=dict)
    # Hints that changed nothing in the tree, by the name the user wrote.
    hints: dict[str, Any] = field(default_factory=dict)
    written_hints: list[WrittenHint] = field(default_factory=list)
    # Kinds of patches that there are.
    patch_kinds: frozenset[str] = frozenset()
    # What lowering leaves to be settled when the launches are known.
    hint_requests: list[HintRequest] = field(default_factory=list)
    # What was left out of the tree because the order of its statements already says it.
    erased: list[Erasure] = field(default_factory=list)
    # What the user calls tiles and variables that have other names here.
    written_names: dict[str, str] = field(default_factory=dict)
    # What the emitted module asks to be edited in what Triton makes of its kernels.
    patches: list[Patch] = field(default_factory=list)
    # What became of each hint, once for each target.
    hint_report: list[HintOutcome] = field(default_factory=list)
    # Variables of loops over what programs of a grid would do, in no order.
    program_loops: set[str] = field(default_factory=set)
    # Variables of loops that stand for no statement of the user's.
    made_loops: set[str] = field(default_factory=set)
    # Program loops in which one turn may take much longer than another.
    uneven_loops: set[str] = field(default_factory=set)
    # Stores of tiles in parts, as the schedule says.
    subtile_stores: int = 0
    # The tiles that hold transposes of sums of products.
    transposed_sums: set[str] = field(default_factory=set)
    # Tiles whose transposes products are added to.
    swapped: list[str] = field(default_factory=list)
    # Variables of loops that were rotated, and why other loops with products were not.
    rotated: list[str] = field(default_factory=list)
    unrotated: list[str] = field(default_factory=list)
    # Whether kernels may be written in Gluon; else all are in plain Triton.
    wants_gluon: bool = True
    # Variables of loops that were split by their masks, and why others with masks were not.
    split: list[str] = field(default_factory=list)
    unsplit: list[str] = field(default_factory=list)
    # TMA descriptors that lowered copies use, by the name of their kernel parameter.
    descriptors: dict[str, Descriptor] = field(default_factory=dict)


@dataclass
class Program:
    """A tile program: the tree in canonical form and its facts."""

    tree: ast.Module
    facts: Facts


# The targets for which kernels have a form in Gluon.
GLUON_TARGETS = ("cuda:90", "hip:gfx942", "hip:gfx950")


def is_specialized(facts: Facts) -> bool:
    """Whether kernels are to be written in Gluon, where they wait for products themselves."""
    asked = facts.schedule.consumers is not None
    return asked and facts.wants_gluon and facts.target in GLUON_TARGETS


def has_producer(facts: Facts) -> bool:
    """Whether these kernels are to be consumers of a producer, as on Hopper."""
    return is_specialized(facts) and facts.target == "cuda:90"
