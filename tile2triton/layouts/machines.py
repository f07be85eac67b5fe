"""What instructions of shared memory each target has, and which lanes they serve together.

NVIDIA: 32 banks; accesses of 8 bytes go in two halves of a warp and those of 16 bytes in four
quarters (CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and later;
Volta to Hopper measured so in "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking"). Each matrix of ldmatrix and stmatrix is eight rows of 16 bytes (PTX ISA).

AMD: 32 banks, and 64 for reads on gfx950. ds_write_b128 serves eight neighbours, ds_read_b128 of
gfx942 the groups 0–3 with 20–23, 4–7 with 16–19 and so on (AMD's "Avoiding LDS bank conflicts
with CK-Tile"); those of gfx950 are what HipKittens measured on an MI355X. That b64 serves 16
neighbours on gfx942 follows from 128 bytes a cycle, and was not measured here.
"""

from .conflicts import Instruction, Phases, consecutive
from .errors import layout_error

_TOGETHER = {16: 8, 8: 16, 4: 32, 2: 32, 1: 32}
# Within 32 lanes; the other 32 lanes of a wave follow.
_READ_128_GFX942: Phases = (
    (0, 1, 2, 3, 20, 21, 22, 23),
    (4, 5, 6, 7, 16, 17, 18, 19),
    (8, 9, 10, 11, 28, 29, 30, 31),
    (12, 13, 14, 15, 24, 25, 26, 27),
)
_READ_128_GFX950: Phases = (
    (0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27),
    (4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31),
)
# A matrix of ldmatrix, and a piece of a matrix unit's operand: eight rows of 16 bytes.
ROWS = 8
PIECE_BYTES = 16


def is_amd(target: str) -> bool:
    """Whether it is AMD's; raises LayoutError for targets that are neither's."""
    backend, _, arch = target.partition(":")
    if backend == "cuda" and arch.isdigit():
        return False
    if backend == "hip" and arch in ("gfx942", "gfx950"):
        return True
    raise layout_error(
        "T2T930",
        f"shared memory of {target or 'this target'} is not known here",
        hint="known are cuda:80 and later, hip:gfx942 and hip:gfx950",
    )


def capability(target: str) -> int:
    """The compute capability of an NVIDIA target, and 0 for AMD's."""
    return 0 if is_amd(target) else int(target.partition(":")[2])


def banks(target: str) -> int:
    """How many banks loads see."""
    return 64 if target == "hip:gfx950" else 32


def load(target: str, width: int, bits: int) -> Instruction:
    """The load of `width` bytes a lane, of elements of `bits`."""
    if not is_amd(target):
        name = f"ld.shared.{_vector(width, bits)}"
        return Instruction(name, width, consecutive(32, _TOGETHER[width]))
    name = f"ds_read_b{8 * width}" if width >= 4 else f"ds_read_u{8 * width}"
    newer = target == "hip:gfx950"
    phases = consecutive(64, _TOGETHER[width] * (2 if newer else 1))
    if width == 16:
        phases = _both_halves(_READ_128_GFX950 if newer else _READ_128_GFX942)
    return Instruction(name, width, phases, banks(target))


def store(target: str, width: int, bits: int) -> Instruction:
    """The store of `width` bytes a lane, of elements of `bits`."""
    if not is_amd(target):
        name = f"st.shared.{_vector(width, bits)}"
        return Instruction(name, width, consecutive(32, _TOGETHER[width]))
    return Instruction(f"ds_write_b{8 * width}", width, consecutive(64, _TOGETHER[width]))


def copy_from_global(target: str, width: int, bits: int) -> Instruction:
    """The write of a copy that passes registers by: `width` bytes a lane."""
    amd = is_amd(target)
    name = f"global_load_lds {width} B" if amd else f"cp.async {width} B"
    return Instruction(name, width, consecutive(64 if amd else 32, _TOGETHER[width]))


def matrices(name: str, count: int, transposed: bool) -> Instruction:
    """ldmatrix or stmatrix of `count` matrices, as an access of eight rows for each matrix."""
    name = f"{name}.x{count}" + (".trans" if transposed else "")
    return Instruction(name, PIECE_BYTES, consecutive(ROWS, ROWS))


def transposing_load(bits: int) -> Instruction:
    """gfx950's load that transposes elements among 16 lanes."""
    return Instruction(f"ds_read_b64_tr_b{bits}", 8, consecutive(64, 32), 64)


def matrix_operand(name: str) -> Instruction:
    """How wgmma and tcgen05 read: pieces of eight rows of 16 bytes."""
    return Instruction(name, PIECE_BYTES, consecutive(ROWS, ROWS))


def _both_halves(phases: Phases) -> Phases:
    return (*phases, *(tuple(lane + 32 for lane in lanes) for lanes in phases))


def _vector(width: int, bits: int) -> str:
    """The type of an access in PTX: words where it has any, else its elements."""
    element = min(width * 8, 32 if bits <= 32 else 64)
    if width < 4:
        element = bits
    count = width * 8 // element
    return f"v{count}.b{element}" if count > 1 else f"b{element}"
