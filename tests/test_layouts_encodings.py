"""Each encoding is the map that Triton's own conversion gives, for random parameters."""

import random

import numpy as np
import pytest

triton_library = pytest.importorskip("triton._C.libtriton")

from tile2triton.layouts.amd_mfma import AmdMfma  # noqa: E402
from tile2triton.layouts.blocked import Blocked  # noqa: E402
from tile2triton.layouts.dot_operand import DotOperand  # noqa: E402
from tile2triton.layouts.errors import LayoutError  # noqa: E402
from tile2triton.layouts.generic_linear import GenericLinear, SharedLinear  # noqa: E402
from tile2triton.layouts.nvidia_mma import NvidiaMma  # noqa: E402
from tile2triton.layouts.nvmma_shared import NvmmaShared  # noqa: E402
from tile2triton.layouts.padded_shared import PaddedShared  # noqa: E402
from tile2triton.layouts.slices import Slice  # noqa: E402
from tile2triton.layouts.swizzled_shared import SwizzledShared  # noqa: E402

ROUNDS = 60
KNOWS_MEMORY = hasattr(triton_library.gluon_ir, "get_layout_view")
asks_about_memory = pytest.mark.skipif(
    not KNOWS_MEMORY, reason="Triton 3.6 tells linear layouts of registers only"
)


@pytest.fixture(scope="module")
def builder():
    context = triton_library.ir.context()
    triton_library.ir.load_dialects(context)
    # The builder does not keep its context alive.
    yield triton_library.gluon_ir.GluonOpBuilder(context)
    del context


def lists(bases):
    return [list(basis) for basis in bases]


def written(builder, encoding):
    """The encoding as Triton's attribute."""
    match encoding:
        case Blocked(size, threads, warps, order, blocks):
            return builder.get_blocked_layout(
                list(size), list(threads), list(warps), list(order), lists(blocks)
            )
        case NvidiaMma(version, warps, instruction, blocks):
            return builder.get_mma_layout(
                [version, 0], list(warps), lists(blocks), list(instruction)
            )
        case AmdMfma(version, warps, instruction, transposed, tiles, bits, blocks):
            return builder.get_amd_mfma_layout(
                version, list(warps), list(instruction), transposed, lists(blocks),
                list(tiles or [1] * len(warps)), bits,
            )  # fmt: skip
        case DotOperand(index, parent, width):
            return builder.get_dot_operand_layout(index, written(builder, parent), width)
        case Slice(axis, parent):
            return builder.get_slice_layout(axis, written(builder, parent))
        case SwizzledShared(vec, per_phase, max_phase, order, blocks):
            return builder.get_swizzled_shared_layout(
                vec, per_phase, max_phase, list(order), lists(blocks)
            )
        case NvmmaShared(swizzle, transposed, bits, rank, padded, blocks):
            return builder.get_nvmma_shared_layout(
                swizzle, bits, transposed, padded, lists(blocks), rank
            )
        case SharedLinear(offsets, blocks, alignment):
            return builder.get_shared_linear_layout(lists(offsets), lists(blocks), alignment)
    raise AssertionError(encoding)


def agree(builder, encoding, shape):
    expected = builder.to_linear_layout(written(builder, encoding), list(shape))
    found = encoding.linear(shape)
    assert found.outputs == tuple((f"dim{axis}", size) for axis, size in enumerate(shape))
    names = ("reg_bases", "lane_bases", "warp_bases", "block_bases")
    inputs = ("register", "lane", "warp", "block")
    if not hasattr(expected, "reg_bases"):
        names, inputs = ("offset_bases", "block_bases"), ("offset", "block")
    for name, source in zip(names, inputs, strict=True):
        wanted = getattr(expected, name)
        if source in ("register", "offset"):
            # Triton 3.6 counts registers that repeat others.
            wanted = [basis for basis in wanted if any(basis)]
        assert lists(found.bases(source)) == wanted, (encoding, shape, source)


def power(rng, low, high):
    return 1 << rng.randint(low, high)


def spread(rng, bits, rank):
    """2**bits shared out over some dimensions."""
    sizes = [1] * rank
    for _ in range(bits):
        sizes[rng.randrange(rank)] *= 2
    return tuple(sizes)


def order(rng, rank):
    return tuple(rng.sample(range(rank), rank))


def block_bases(rng, rank):
    count = rng.choice((0, 0, 1, 2))
    reached = [1] * rank
    bases = []
    for _ in range(count):
        basis = [0] * rank
        if rng.random() < 0.8:
            axis = rng.randrange(rank)
            basis[axis] = reached[axis]
            reached[axis] *= 2
        bases.append(tuple(basis))
    return tuple(bases)


def blocked(rng, rank, blocks=True):
    lanes = rng.choice((5, 6))
    return Blocked(
        spread(rng, rng.randint(0, 4), rank),
        spread(rng, lanes, rank),
        spread(rng, rng.randint(0, 3), rank),
        order(rng, rank),
        block_bases(rng, rank) if blocks else (),
    )


def nvidia(rng, rank=2):
    lead = (1,) * (rank - 2)
    if rng.random() < 0.5:
        return NvidiaMma(2, (power(rng, 0, 1),) * len(lead) + spread(rng, 2, 2), (*lead, 16, 8))
    n = rng.choice((8, 16, 32, 64, 128, 256))
    return NvidiaMma(3, (4, power(rng, 0, 1)), (16, n, 16)) if rank == 2 else nvidia(rng, rank)


def mfma(rng):
    side = rng.choice((16, 32))
    tiles = spread(rng, rng.randint(0, 1), 2)
    return AmdMfma(
        rng.choice((3, 4)), spread(rng, rng.randint(0, 3), 2), (side, side, 8 * 32 // side),
        rng.random() < 0.5, tiles,
    )  # fmt: skip


def test_blocked_is_tritons(builder):
    rng = random.Random(1)
    for _ in range(ROUNDS):
        rank = rng.randint(1, 3)
        agree(builder, blocked(rng, rank), tuple(power(rng, 2, 8) for _ in range(rank)))


def test_nvidia_products_and_their_operands_are_tritons(builder):
    rng = random.Random(2)
    for _ in range(ROUNDS):
        rank = rng.choice((2, 2, 3))
        parent = nvidia(rng, rank)
        shape = tuple(power(rng, 4, 8) for _ in range(rank))
        agree(builder, parent, shape)
        width = rng.choice((1, 2, 4))
        agree(builder, DotOperand(0, parent, width), shape)
        if parent.version == 2:
            agree(builder, DotOperand(1, parent, width), shape)


def test_amd_products_and_their_operands_are_tritons(builder):
    rng = random.Random(3)
    for _ in range(ROUNDS):
        parent = mfma(rng)
        shape = (power(rng, 4, 8), power(rng, 4, 8))
        agree(builder, parent, shape)
        agree(builder, DotOperand(rng.randint(0, 1), parent, rng.choice((1, 4, 8, 16))), shape)


def test_operands_of_scalar_products_are_tritons(builder):
    rng = random.Random(4)
    for _ in range(ROUNDS):
        parent = blocked(rng, 2, blocks=False)
        shape = (power(rng, 3, 7), power(rng, 3, 7))
        agree(builder, DotOperand(rng.randint(0, 1), parent), shape)


def test_slices_are_tritons(builder):
    rng = random.Random(5)
    for _ in range(ROUNDS):
        parent = rng.choice((lambda: blocked(rng, 2), lambda: nvidia(rng), lambda: mfma(rng)))()
        agree(builder, Slice(rng.randint(0, 1), parent), (power(rng, 4, 8),))


@asks_about_memory
def test_swizzled_memory_is_tritons(builder):
    rng = random.Random(6)
    for _ in range(ROUNDS):
        rank = rng.randint(1, 3)
        encoding = SwizzledShared(
            power(rng, 0, 4), power(rng, 0, 2), power(rng, 0, 4), order(rng, rank),
            block_bases(rng, rank),
        )  # fmt: skip
        agree(builder, encoding, tuple(power(rng, 4, 7) for _ in range(rank)))


@asks_about_memory
def test_memory_of_wgmma_is_tritons(builder):
    rng = random.Random(7)
    for _ in range(2 * ROUNDS):
        rank = rng.choice((2, 2, 3))
        bits = rng.choice((8, 16, 32))
        encoding = NvmmaShared(
            rng.choice((0, 32, 64, 128)), rank == 2 and rng.random() < 0.5, bits, rank,
            blocks=block_bases(rng, rank) if rank == 2 else (),
        )  # fmt: skip
        shape = [power(rng, 3, 7) for _ in range(rank)]
        inner = 0 if encoding.transposed else rank - 1
        shape[inner] = max(encoding.swizzle * 8 // bits, 16) * power(rng, 0, 2)
        shape = [4 * size for size in shape] if encoding.blocks else shape
        agree(builder, encoding, tuple(shape))


def test_gaps_are_counted_after_each_interval():
    encoding = PaddedShared(((4, 2), (16, 8)), (1, 0))
    (rows, columns) = encoding.linear((4, 8))(offset=range(32))
    assert [8 * row + column for row, column in zip(rows, columns, strict=True)] == [*range(32)]
    offsets = encoding.padded(np.arange(32))
    assert [int(offsets[at]) for at in (0, 3, 4, 15, 16, 31)] == [0, 3, 6, 21, 32, 53]
    given = PaddedShared(((8, 4),), offsets=((1, 0), (2, 0), (0, 1), (0, 2), (0, 4)))
    assert given.linear((4, 8)).bases("offset") == given.offsets


def test_written_out_bases_are_tritons(builder):
    rng = random.Random(9)
    for _ in range(ROUNDS):
        shape = (power(rng, 7, 8), power(rng, 7, 8))
        found = nvidia(rng).linear(shape)
        names = ("register", "lane", "warp", "block")
        encoding = GenericLinear(*(found.bases(name) for name in names))
        attribute = builder.get_distributed_linear_layout(
            *(lists(found.bases(name)) for name in names), list(shape)
        )
        expected = builder.to_linear_layout(attribute, list(shape))
        assert lists(encoding.linear(shape).bases("register")) == expected.reg_bases
        if not KNOWS_MEMORY:
            continue
        swizzled = SwizzledShared(8, 1, 8, (1, 0)).linear(shape)
        agree(builder, SharedLinear(swizzled.bases("offset")), shape)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: NvidiaMma(5, (4, 1), (128, 128)), "T2T924"),
        (lambda: AmdMfma(3, (2, 2), (4, 64, 4), True), "T2T924"),
        (lambda: NvmmaShared(128, False, 16).linear((4, 64)), "T2T927"),
        (lambda: NvmmaShared(0, False, 16).linear((4, 96)), "T2T920"),
        (lambda: NvmmaShared(16, False, 16), "T2T925"),
        (lambda: NvmmaShared(128, False, 8, fp4_padded=True), "T2T926"),
        (lambda: NvmmaShared(64, True, 16, 3).linear((64, 8, 8)), "T2T926"),
        (lambda: Blocked((1,), (32,), (4,), (0,)).linear((96,)), "T2T920"),
        (lambda: GenericLinear(((1,),), (), ()).linear((2, 2)), "T2T921"),
    ],
)
def test_what_is_not_known_is_refused(make, code):
    with pytest.raises(LayoutError) as caught:
        make()
    assert [item.code for item in caught.value.diagnostics] == [code]
