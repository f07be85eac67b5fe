"""The annotations of a schedule, one row each: how it is written, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

WARP = 32


def parallel(block: Any) -> Any:
    """The threads of a block, by dimension: `block=(128, 1)` is 128 threads, four warps of 32."""


def warps(count: Any) -> Any:
    """The warps of a block."""


def tile(**extents: Any) -> Any:
    """Tile sizes by the names of extents: `m`, `n`, `k` of matrix products, or the program's own.

    In a kernel with T.Kernel, the parameters that hold them: `T.tile(block_M=64)`.
    """


def pipeline(num_stages: Any) -> Any:
    """How many turns of a loop are in flight: its loads are issued so many turns ahead."""


def vectorize(width: Any) -> Any:
    """How many elements a thread loads at once, 16 bytes at most."""


def swizzle(panel_size: Any) -> Any:
    """So many rows of programs run beside each other, so that they share what they load."""


def persistent(programs: Any = None) -> Any:
    """A program for each multiprocessor, which computes several tiles; `programs` says how many."""


def stream_k(programs: Any = None) -> Any:
    """A program for each multiprocessor, which computes as many turns of loops as any other.

    Tiles that several programs compute turns of are ended by a second kernel.
    """


def subtile(parts: Any) -> Any:
    """Tiles that TMA stores are stored in so many parts, which need less shared memory at once."""


def swap_ab() -> Any:
    """The transposes of products are computed whose second factor is made in registers.

    Hopper reads no other than the first factor of a product from there.
    """


def rotate() -> Any:
    """A loop with two products makes the last one of a turn beside the rest of the next turn.

    So matrix units work while a softmax is computed. It takes registers; a loop that would need
    more than there are stays as it is.
    """


def warp_specialize(consumers: Any = 2) -> Any:
    """So many programs of the grid share a producer, a warp that loads tiles ahead for them.

    On Hopper, in Gluon: each consumer computes its own tile, with loops rotated. On AMD, two groups
    of four warps share a tile, one stage of a loop's turn apart; one group only loads ahead.
    """


def split_masks(wanted: Any = True) -> Any:
    """The turns of a loop in which masks hide nothing are a loop of their own, without masks.

    Both take code. `T.split_masks(False)` leaves one loop, as where nothing is said.
    """


def split(axis: Any, parts: Any = None) -> Any:
    """The extent `axis`, over which a loop sums, is shared out to `parts` programs.

    A second kernel combines what they found. In a kernel with T.Kernel, `axis` is the variable of a
    loop; `T.split(8)` means the one that there is.
    """


def recompute() -> Any:
    """A matrix product that several tiles need may be computed for each of them."""


def registers(count: Any) -> Any:
    """At most so many registers for each thread, on NVIDIA: what does not fit goes to memory."""


def ctas(count: Any) -> Any:
    """So many programs of the chip, which form a cluster, share the work of one; from Hopper on."""


def waves_per_eu(count: Any) -> Any:
    """So many waves are to fit on each of AMD's execution units, which bounds their registers."""


def matrix_instruction(size: Any) -> Any:
    """AMD's matrix instructions make tiles of 16 by 16 or 32 by 32 elements."""


def mma_version(version: Any) -> Any:
    """Which matrix instructions Hopper takes: 2 is mma.sync, in the place of wgmma."""


def direct_to_lds() -> Any:
    """AMD's loads that run ahead in loops write to shared memory directly, not by registers."""


class WrongHintError(Exception):
    """What is wrong with a hint's arguments: a message and what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Hint:
    """One annotation.

    `read` turns its arguments into the entries of a schedule, by the names of `Schedule`'s fields;
    `kernels` says what becomes of it in a kernel with T.Kernel, where it can stand.
    """

    surface: Callable[..., Any]
    read: Callable[..., dict[str, Any]]
    operands: str
    kernels: str = ""

    @property
    def name(self) -> str:
        return self.surface.__name__


def _number(what: str, value: Any, least: int, example: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise WrongHintError(f"{what} is a whole number from {least} on, not {value!r}", example)
    return int(value)


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _read_parallel(block: Any) -> dict[str, Any]:
    example = "write T.parallel(block=(128, 1))"
    extents = tuple(block) if isinstance(block, (tuple, list)) else (block,)
    threads = 1
    for extent in extents:
        threads *= _number("an extent of the block", extent, 1, example)
    return {"threads": _threads(threads, f"block={block!r} has {threads} threads")}


def _threads(threads: int, what: str) -> int:
    if threads > 1024 or threads % WARP or not _is_power_of_two(threads // WARP):
        raise WrongHintError(
            f"{what}; a block has 1, 2, 4, … 32 warps of {WARP}",
            f"make it {WARP} times a power of two, such as 128",
        )
    return threads


def _read_warps(count: Any) -> dict[str, Any]:
    number = _number("the number of warps", count, 1, "write T.warps(4)")
    return {"threads": _threads(number * WARP, f"{number} warps were given")}


def _read_tile(**extents: Any) -> dict[str, Any]:
    if not extents:
        raise WrongHintError("no extent is given", "write T.tile(m=128, n=128, k=64)")
    for name, value in extents.items():
        number = _number(f"the tile along `{name}`", value, 1, f"write T.tile({name}=64)")
        if not _is_power_of_two(number):
            raise WrongHintError(
                f"the tile along `{name}` is {number}, which is no power of two",
                f"write T.tile({name}={1 << number.bit_length()})",
            )
        alike = [one for one in extents if one.lower() == name.lower()]
        if len(alike) > 1:
            raise WrongHintError(
                f"`{alike[0]}` and `{alike[1]}` are one extent, whose name has any case",
                f"write T.tile({name}={number})",
            )
    return {"tiles": dict(extents)}


def _read_pipeline(num_stages: Any) -> dict[str, Any]:
    example = "write T.pipeline(num_stages=3)"
    return {"num_stages": _number("the number of stages", num_stages, 1, example)}


def _read_vectorize(width: Any) -> dict[str, Any]:
    number = _number("the width", width, 1, "write T.vectorize(width=4)")
    if number > 16 or not _is_power_of_two(number):
        raise WrongHintError(
            f"a thread loads 1, 2, 4, 8 or 16 elements at once, not {number}",
            "write T.vectorize(width=8)",
        )
    return {"width": number}


def _read_swizzle(panel_size: Any) -> dict[str, Any]:
    return {"swizzle": _number("the panel", panel_size, 1, "write T.swizzle(8)")}


def _read_persistent(programs: Any = None) -> dict[str, Any]:
    if programs is None:
        return {"programs": 0}
    return {"programs": _number("the number of programs", programs, 1, "write T.persistent()")}


def _read_stream_k(programs: Any = None) -> dict[str, Any]:
    if programs is None:
        return {"stream": 0}
    return {"stream": _number("the number of programs", programs, 1, "write T.stream_k()")}


def _read_subtile(parts: Any) -> dict[str, Any]:
    number = _number("the number of parts", parts, 1, "write T.subtile(2)")
    if number > 8 or not _is_power_of_two(number):
        raise WrongHintError(f"tiles are stored in 1, 2, 4 or 8 parts, not {number}", "write 2")
    return {"subtiles": number}


def _read_swap_ab() -> dict[str, Any]:
    return {"swap_ab": True}


def _read_rotate() -> dict[str, Any]:
    return {"rotate": True}


def _read_warp_specialize(consumers: Any = 2) -> dict[str, Any]:
    number = _number("the number of consumers", consumers, 1, "write T.warp_specialize(2)")
    if number > 3:
        raise WrongHintError(f"a program has 1, 2 or 3 consumers, not {number}", "write 2")
    return {"consumers": number}


def _read_split_masks(wanted: Any = True) -> dict[str, Any]:
    if not isinstance(wanted, bool):
        raise WrongHintError(
            f"loops are split, or they are not, {wanted!r} is neither",
            "write T.split_masks() or T.split_masks(False)",
        )
    return {"split_masks": wanted}


def _read_split(axis: Any, parts: Any = None) -> dict[str, Any]:
    if parts is None:
        axis, parts = "", axis
    if not isinstance(axis, str):
        raise WrongHintError(f"an extent has a name, not {axis!r}", 'write T.split("k", 4)')
    return {"splits": {axis: _number("the number of parts", parts, 2, 'write T.split("k", 4)')}}


def _read_recompute() -> dict[str, Any]:
    return {"recompute": True}


def _read_registers(count: Any) -> dict[str, Any]:
    number = _number("the number of registers", count, 24, "write T.registers(128)")
    if number > 255:
        raise WrongHintError(f"a thread has 255 registers at most, not {number}", "leave it out")
    return {"options": {"maxnreg": number}}


def _read_ctas(count: Any) -> dict[str, Any]:
    number = _number("the number of programs in a cluster", count, 1, "write T.ctas(2)")
    if number > 16 or not _is_power_of_two(number):
        raise WrongHintError(f"a cluster has 1, 2, 4, 8 or 16 programs, not {number}", "write 2")
    return {"options": {"num_ctas": number}}


def _read_waves_per_eu(count: Any) -> dict[str, Any]:
    number = _number("the number of waves", count, 1, "write T.waves_per_eu(2)")
    if number > 8:
        raise WrongHintError(f"an execution unit holds 8 waves at most, not {number}", "write 2")
    return {"options": {"waves_per_eu": number}}


def _read_matrix_instruction(size: Any) -> dict[str, Any]:
    number = _number("the size of matrix instructions", size, 1, "write T.matrix_instruction(16)")
    if number not in (16, 32):
        raise WrongHintError(
            f"matrix instructions make tiles of 16 or 32 rows, not {number}",
            "write T.matrix_instruction(16)",
        )
    return {"options": {"matrix_instr_nonkdim": number}}


def _read_mma_version(version: Any) -> dict[str, Any]:
    number = _number("the version of matrix instructions", version, 1, "write T.mma_version(2)")
    if number != 2:
        raise WrongHintError(
            f"what can be asked for is version 2, mma.sync, not {number}",
            "write T.mma_version(2), or leave it out: Triton takes the newest",
        )
    return {"options": {"mma_version": number}}


def _read_direct_to_lds() -> dict[str, Any]:
    return {"options": {"direct_to_lds": 1}}


HINTS = (
    Hint(
        parallel,
        _read_parallel,
        operands="the warps of the launch",
        kernels="the warps of the launch",
    ),
    Hint(
        warps,
        _read_warps,
        operands="the warps of the launch",
        kernels="the warps of the launch",
    ),
    Hint(
        tile,
        _read_tile,
        operands="the sizes of tiles",
        kernels="the defaults of parameters",
    ),
    Hint(
        pipeline,
        _read_pipeline,
        operands="`num_stages` of the loops",
        kernels="`num_stages` of every T.Pipelined",
    ),
    Hint(
        vectorize,
        _read_vectorize,
        operands="so many elements for each thread in tiles without matrix products",
    ),
    Hint(
        swizzle,
        _read_swizzle,
        operands="T.use_swizzle",
        kernels="T.use_swizzle",
    ),
    Hint(
        persistent,
        _read_persistent,
        operands="a loop over tiles in each program",
        kernels="a loop over the programs of its grid",
    ),
    Hint(
        stream_k,
        _read_stream_k,
        operands="as many turns of loops for each program, and a second kernel that combines",
        kernels="as many turns of loops for each program, and a second kernel that combines",
    ),
    Hint(
        subtile,
        _read_subtile,
        operands="parts of result tiles, where TMA stores them",
        kernels="parts of result tiles, where TMA stores them",
    ),
    Hint(
        swap_ab,
        _read_swap_ab,
        operands="transposes of products, on sm_90",
        kernels="transposes of products, on sm_90",
    ),
    Hint(
        rotate,
        _read_rotate,
        operands="a loop with two products that ends each turn in the next one",
        kernels="a loop with two products that ends each turn in the next one",
    ),
    Hint(
        warp_specialize,
        _read_warp_specialize,
        operands="a kernel of Gluon: a producer and consumers, or AMD's groups of warps in turns",
        kernels="a kernel of Gluon: a producer and consumers, or AMD's groups of warps in turns",
    ),
    Hint(
        split_masks,
        _read_split_masks,
        operands="loops of their own for turns in which masks hide nothing, in any case",
        kernels="loops of their own for turns in which masks hide nothing",
    ),
    Hint(
        split,
        _read_split,
        operands="more programs, and a second kernel that combines",
        kernels="more programs, and a second kernel that combines",
    ),
    Hint(recompute, _read_recompute, operands="tiles along extents that products do not have"),
    Hint(
        registers,
        _read_registers,
        operands="`maxnreg` of the launch",
        kernels="`maxnreg` of the launch",
    ),
    Hint(
        ctas,
        _read_ctas,
        operands="`num_ctas` of the launch",
        kernels="`num_ctas` of the launch",
    ),
    Hint(
        waves_per_eu,
        _read_waves_per_eu,
        operands="`waves_per_eu` of the launch",
        kernels="`waves_per_eu` of the launch",
    ),
    Hint(
        matrix_instruction,
        _read_matrix_instruction,
        operands="`matrix_instr_nonkdim` of the launch",
        kernels="`matrix_instr_nonkdim` of the launch",
    ),
    Hint(
        mma_version,
        _read_mma_version,
        operands="a patch of what Triton compiles",
        kernels="a patch of what Triton compiles",
    ),
    Hint(
        direct_to_lds,
        _read_direct_to_lds,
        operands="a patch of what Triton compiles",
        kernels="a patch of what Triton compiles",
    ),
)

BY_NAME: Mapping[str, Hint] = {hint.name: hint for hint in HINTS}
