"""`tile2triton explain FILE:KERNEL`: what is read of compiled code, and how it is said."""

import json
import textwrap

import pytest

from tile2triton.cli import main
from tile2triton.commands.explain_kernel import is_kernel
from tile2triton.explaining.layout_words import described
from tile2triton.explaining.tiles import read_tiles

MODULE = """\
import triton.language as tl
def k(A, C):
    a = tl.load(
        A + tl.arange(0, 64),
    )
    c = tl.dot(a, a)
    tl.store(C + 1, c)
"""
TTGIR = """\
#mma = #ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 4], instrShape = [16, 8]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#loc = loc("/k.py":2:1)
module attributes {} {
  tt.func public @k() {
    %a = ttg.local_alloc : () -> !ttg.memdesc<3x64x32xf16, #shared, #smem, mutable> loc(#loc5)
    %a_1 = ttg.async_copy_global_to_local %p, %a : tensor<64x32x!tt.ptr<f16>, #b> -> \
<64x32xf16, #shared, #smem, mutable> loc(#loc5)
    %c = tt.dot %a_1, %a_1, %z : tensor<64x32xf16, #d> -> tensor<64x16xf32, #mma> loc(#loc6)
    tt.store %q, %c : tensor<64x16x!tt.ptr<f32>, #b> loc(#loc4)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/k.py":4:9)
#loc2 = loc("/k.py":6:9)
#loc4 = loc("/k.py":7:5)
#loc5 = loc("a"(#loc1))
#loc6 = loc("c"(#loc2))
"""
PTX = """\
	.loc	1 3 9
	cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
	.loc	1 4 9
	cp.async.ca.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x8, %r2;
	.loc	2 90 1, function_name $L1, inlined_at 1 6 9
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r1 };
	// begin inline asm
	.loc	1 7 5
	mov.u32 %r1, 0x0;
	.loc	1 8 5
	st.global.v4.b32 [ %rd1 + 0 ], { %r1 };
	// end inline asm
	.file	1 "/" "k.py"
	.file	2 "/" "standard.py"
"""


def test_tiles_are_read_by_the_statements_of_the_emitted_module():
    tiles = read_tiles(TTGIR, PTX, "/k.py", MODULE, is_nvidia=True)
    load, store = tiles.moves
    assert (load.variable, load.tensor, load.line) == ("a", "A", 3)
    assert (load.shape, load.element, load.bytes, load.buffers) == ((64, 32), "f16", 4096, 3)
    assert load.layout == "swizzled, 8 elements, 4 phases of 2 rows"
    assert load.instructions == {"cp.async 16 bytes": 1, "cp.async 8 bytes": 1}
    assert (store.tensor, store.line, store.shape, store.bytes) == ("C", 7, (64, 16), 4096)
    assert store.instructions == {"st.global.v4.b32": 1}
    (product,) = tiles.products
    assert (product.variable, product.warps, product.shape) == ("c", (2, 4), (64, 16))
    assert product.instructions == {"mma.sync m16n8k16": 1}


@pytest.mark.parametrize("descriptor", ["1x1x64x32xf16", "tensor<1x1x64x32xf16>"])
def test_tiles_of_tensors_of_more_dimensions_are_those_in_shared_memory(descriptor):
    copied = (
        f"    %a_1 = ttng.async_tma_copy_global_to_local %d[%z, %z, %z, %z] %a, %bar, %true : "
        f"!tt.tensordesc<{descriptor}, #shared>, !ttg.memdesc<1xi64, #shared, #smem> -> "
        "!ttg.memdesc<64x32xf16, #shared, #smem, mutable> loc(#loc5)"
    )
    lines = [copied if "async_copy" in line else line for line in TTGIR.splitlines()]
    text = "\n".join(lines)
    load, _ = read_tiles(text, PTX, "/k.py", MODULE, is_nvidia=True).moves
    assert (load.shape, load.bytes, load.buffers) == ((64, 32), 4096, 3)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false}>",
            "swizzled by 64 bytes",
        ),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false}>", "not swizzled"),
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 1}>", "not swizzled"),
        ("#ttg.padded_shared<[512:+16] {offset = []}>", "padded 512:+16"),
        ("#ttg.amd_rotating_shared<{vec = 8}>", "amd rotating shared"),
    ],
)
def test_layouts_of_shared_memory_have_words(layout, words):
    assert described(layout) == words


@pytest.mark.parametrize(
    ("subject", "is_one"),
    [("gemm.py", True), ("gemm.py:gemm", True), ("reduce_max", False), ("T2T250", False)],
)
def test_files_are_kernels_and_other_subjects_are_not(subject, is_one):
    assert is_kernel(subject) == is_one


KERNEL = """
import tile2triton
import tile2triton.language as T

@tile2triton.kernel(out_idx=[2])
def product(M=128, N=64, K=128, rows=64):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            a = T.alloc_shared((rows, 64), "float16")
            b = T.alloc_shared((64, N), "float16")
            c = T.alloc_fragment((rows, N), "float32")
            T.clear(c)
            for k in T.Pipelined(K // 64, num_stages=3):
                T.copy(A[bx * rows, k * 64], a, disable_tma=True)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullRow, k_pack=2)
            T.copy(c, C[bx * rows, 0])

    return main
"""


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "product.py"
    path.write_text(textwrap.dedent(KERNEL))
    return f"{path}:product"


@pytest.mark.compile
def test_a_kernel_is_explained_with_evidence(kernel, capsys):
    assert main(["explain", kernel, "--target", "cuda:90", "--set", "N=128"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("main_kernel for cuda:90 (NVIDIA H100/H200): num_warps=4, num_stages=1")
    assert "registers a thread, none spilled; shared memory: " in said
    assert "load b from B" in said and "TMA load" in said
    assert "wgmma m64n128k16" in said and "warps 4 by 1" in said
    assert "not applied: it packs operands of AMD's matrix instructions" in said


@pytest.mark.compile
def test_explanations_are_data(kernel, capsys):
    options = ["--target", "cuda:80", "--target", "hip:gfx942", "--json"]
    assert main(["explain", kernel, *options]) == 0
    nvidia, amd = json.loads(capsys.readouterr().out)
    assert [nvidia["target"], amd["target"]] == ["cuda:80", "hip:gfx942"]
    assert amd["options"] == {"num_warps": 2, "num_stages": 1, "kpack": 2}
    moves = {move["variable"]: move for move in nvidia["tiles"]["moves"] if move["variable"]}
    assert moves["a"]["bytes"] == 64 * 64 * 2
    assert moves["a"]["buffers"] == 2
    assert set(moves["a"]["instructions"]) == {"cp.async 16 bytes"}
    assert {buffer["variable"] for buffer in nvidia["tiles"]["buffers"]} >= {"a", "b"}
    hints = {hint["construct"]: hint for hint in nvidia["hints"]}
    assert hints["T.gemm(a, b, c, k_pack=2)"]["how"] == "none"
    assert hints["T.copy(A[bx * rows, k * 64], a, disable_tma=True)"]["how"] == "native"
    assert all(hint["detail"] and hint["line"] for hint in hints.values())


@pytest.mark.compile
def test_what_another_file_has_compiled_is_read_by_its_own_lines(kernel, tmp_path, capsys):
    # Its header says another word, and nothing in its kernel does.
    path = tmp_path / "product.py"
    path.write_text(path.read_text().replace("rows=64)", 'rows=64, note="a")'))
    said = []
    for note in "bc":
        assert main(["explain", kernel, "--target", "cuda:80", "--set", f"note={note}"]) == 0
        said.append(capsys.readouterr().out)
    assert "load a from A  line" in said[0]
    assert said[0] == said[1]


def test_a_file_that_is_not_there_is_an_error(capsys):
    assert main(["explain", "nowhere.py"]) == 2
    assert "there is no file nowhere.py" in capsys.readouterr().err
