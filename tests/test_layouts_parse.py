"""TTGIR as text becomes encodings, operations, loops and buffers."""

import pytest

from tile2triton.layouts.amd_mfma import AmdMfma
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.dot_operand import DotOperand
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.generic_linear import GenericLinear, SharedLinear
from tile2triton.layouts.nvidia_mma import NvidiaMma
from tile2triton.layouts.nvmma_shared import NvmmaShared
from tile2triton.layouts.padded_shared import PaddedShared
from tile2triton.layouts.predicted import predicted
from tile2triton.layouts.reading import encoding_in, encoding_of
from tile2triton.layouts.slices import Slice
from tile2triton.layouts.swizzled_shared import SwizzledShared
from tile2triton.ttgir_text.attributes import Alias, read_attribute
from tile2triton.ttgir_text.module import read_module
from tile2triton.ttgir_text.tensor_types import MemoryType, TensorType, types_in

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], "
    "order = [1, 0]}>"
)
MMA = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
    "instrShape = [16, 8]}>"
)
AS_BLOCKED = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
AS_MMA = NvidiaMma(2, (2, 2), (16, 8))

MODULE = f"""\
#blocked = {BLOCKED}
#loc = loc("/a/kernel.py":3:0)
#mma = {MMA}
#shared = #ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}}>
#smem = #ttg.shared_memory
#loc40 = loc("A"(#loc))
#loc44 = loc("x"(#loc1))
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, \
ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%A: !tt.ptr<f16> {{tt.divisibility = 16 : i32}} loc("A"(#loc))) {{
    %c0 = arith.constant 0 : i32 loc(#loc1)
    %c1 = arith.constant 1 : i32 loc(#loc1)
    %c7 = arith.constant 7 : i32 loc(#loc1)
    %x_1 = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> loc(#loc44)
    %x_2 = ttg.memdesc_index %x_1[%c0] : !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> -> \
!ttg.memdesc<64x64xf16, #shared, #smem, mutable> loc(#loc44)
    %r:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%a = %c0, %m = %x_2) -> (i32, \
!ttg.memdesc<64x64xf16, #shared, #smem, mutable>)  : i32 {{
      %v = ttg.memdesc_subslice %m[0, 16] : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> \
!ttg.memdesc<64x16xf16, #shared, #smem, mutable, 64x64> loc(#loc44)
      %l = ttg.local_load %v : !ttg.memdesc<64x16xf16, #shared, #smem, mutable, 64x64> -> \
tensor<64x16xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>> loc(#loc44)
      scf.yield %a, %m : i32, !ttg.memdesc<64x64xf16, #shared, #smem, mutable> loc(#loc1)
    }} loc(#loc1)
    %w = ttg.async_copy_global_to_local %p, %r#1 mask %q {{contiguity = 8 : i32}} : \
tensor<64x64x!tt.ptr<f16>, #blocked> -> <64x64xf16, #shared, #smem, mutable> loc(#loc44)
    tt.return loc(#loc1)
  }} loc(#loc)
}} loc(#loc)
"""


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (BLOCKED, AS_BLOCKED),
        (MMA, AS_MMA),
        (
            BLOCKED.replace("}>", ", CGALayout = [[0, 1]]}>"),
            Blocked((1, 8), (4, 8), (4, 1), (1, 0), ((0, 1),)),
        ),
        (
            "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], "
            "isTransposed = true, tilesPerWarp = [2, 1]}>",
            AmdMfma(3, (2, 2), (32, 32, 8), True, (2, 1)),
        ),
        ("#ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>", DotOperand(1, AS_MMA, 4)),
        ("#ttg.dot_op<{opIdx = 0, parent = #blocked}>", DotOperand(0, AS_BLOCKED)),
        ("#ttg.slice<{dim = 1, parent = #blocked}>", Slice(1, AS_BLOCKED)),
        (
            "#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [0, 1]}>",
            SwizzledShared(4, 2, 8, (0, 1)),
        ),
        (
            "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>",
            SwizzledShared(4, 1, 16, (1, 0), rotating=True),
        ),
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>",
            NvmmaShared(64, True, 16),
        ),
        (
            "#ttg.padded_shared<[64:+8, 512:+16] {order = [1, 0], shape = [128, 64]}>",
            PaddedShared(((64, 8), (512, 16)), (1, 0), shape=(128, 64)),
        ),
        (
            "#ttg.padded_shared<[8:+4] {offset = [[0, 1], [1, 0]], block = []}>",
            PaddedShared(((8, 4),), (), ((0, 1), (1, 0))),
        ),
        (
            "#ttg.shared_linear<{offset = [[0, 1], [1, 1]], block = []}, alignment = 128>",
            SharedLinear(((0, 1), (1, 1)), (), 128),
        ),
        (
            "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>",
            GenericLinear(((0, 1),), ((1, 0),), ()),
        ),
    ],
)
def test_attributes_become_encodings(text, encoding):
    aliases = {"mma": read_attribute(MMA), "blocked": read_attribute(BLOCKED)}
    assert encoding_of(read_attribute(text), aliases) == encoding


def test_types_have_shapes_elements_and_what_they_are_views_of():
    text = (
        "%a, %b : tensor<128x64x!tt.ptr<f16>, #blocked> -> <128x16xf8E5M2, #shared, #smem, "
        "mutable, 3x128x64> , tensor<8xi1>"
    )
    assert list(types_in(text)) == [
        TensorType((128, 64), "!tt.ptr<f16>", Alias("blocked")),
        MemoryType((128, 16), "f8E5M2", Alias("shared"), "smem", (3, 128, 64)),
        TensorType((8,), "i1", None),
    ]


def test_operations_know_their_loops_and_buffers():
    module = read_module(MODULE)
    assert (module.warps, module.lanes, module.target) == (4, 32, "cuda:80")
    load = next(item for item in module.operations if item.name == "ttg.local_load")
    assert [loop.trips for loop in load.loops] == [7]
    assert load.variable == "x"
    assert module.origin(load.operands[0]) == "%x_1"
    assert module.origin("%r#1") == "%x_1"
    assert module.corners == {"%v": (0, 16)}
    assert encoding_in(module, load.types[1]) == DotOperand(0, AS_MMA, 2)


def test_partitions_of_warps_use_the_buffers_that_they_are_given():
    partition = """\
    ttg.warp_specialize(%c0, %x_2) attributes {requestedRegisters = array<i32: 24>}
    default {
      ttg.warp_yield
    }
    partition0(%l: i32 loc("n"(#loc)), %v: !ttg.memdesc<64x64xf16, #shared, #smem, mutable> \
loc("x"(#loc))) num_warps(4) {
      ttg.local_store %t, %v : tensor<64x64xf16, #blocked> -> \
!ttg.memdesc<64x64xf16, #shared, #smem, mutable> loc(#loc44)
      ttg.warp_return
    } : (i32, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) -> () loc(#loc1)
    tt.return"""
    module = read_module(MODULE.replace("    tt.return", partition))
    store = next(item for item in module.operations if item.name == "ttg.local_store")
    assert module.origin(store.operands[1]) == "%x_1" and not store.loops
    assert module.origin("%v") == "%x_1"
    returned = next(item for item in module.operations if item.name == "tt.return")
    assert not returned.loops


def test_rows_say_what_each_access_takes():
    load, copy = predicted(MODULE)
    assert (load.buffer, load.instruction, load.instructions) == ("x", "ldmatrix.x4", 2)
    assert (load.issues, load.ideal, load.simulated, load.trips) == (8, 32, 32, 7)
    assert load.counter == "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld"
    assert (copy.instruction, copy.issues, copy.trips, copy.depth) == ("cp.async 16 B", 16, 1, 0)
    plain = MODULE.replace("maxPhase = 8", "maxPhase = 1")
    assert [row.ways for row in predicted(plain)] == [8.0, 1.0]


def test_layouts_that_are_not_known_are_rows_with_a_reason():
    (load, copy) = predicted(MODULE.replace("versionMajor = 2", "versionMajor = 5"))
    assert (load.instruction, load.reason) == ("", "products of version 5 are not known here")
    assert copy.instruction == "cp.async 16 B"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("maxPhase = 8,", "maxPhase = 8"), "T2T928"),
        (("#ttg.swizzled_shared", "#ttg.wavy_shared"), None),
        (("cuda:80", "hip:gfx1100"), "T2T930"),
    ],
)
def test_texts_that_are_wrong_are_refused(change, code):
    text = MODULE.replace(*change)
    if code is None:
        assert {row.reason for row in predicted(text)} == {
            "a layout of a kind that is not known here"
        }
        return
    with pytest.raises(LayoutError) as caught:
        predicted(text)
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    "text", ["#ttg.blocked<{order = [1,}>", "#nothing", "#ttg.slice<{dim = 0}>"]
)
def test_attributes_that_cannot_be_read_are_refused(text):
    with pytest.raises(LayoutError) as caught:
        encoding_of(read_attribute(text), {})
    assert caught.value.diagnostics[0].code in ("T2T928", "T2T929")


def test_tma_refuses_buffers_in_other_layouts():
    text = MODULE.replace(
        "%w = ttg.async_copy_global_to_local %p, %r#1 mask %q {contiguity = 8 : i32} : "
        "tensor<64x64x!tt.ptr<f16>, #blocked> -> <",
        "ttng.async_tma_copy_global_to_local %d[%c0, %c0] %r#1, %b, %t : "
        "!tt.tensordesc<64x64xf16, #shared> -> !ttg.memdesc<",
    )
    (_, copy) = predicted(text)
    assert copy.reason == "TMA and wgmma take buffers in their own layout only"
