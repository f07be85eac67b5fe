"""The space of schedules: what programs of both forms let be chosen, found from them alone."""

import itertools

import pytest

import tile2triton
import tile2triton.language as T
from tests.kernels.elementwise import add
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.kernels.softmax import softmax
from tests.test_schedules import attention, product
from tile2triton.tune.space import Space, space_of
from tile2triton.tune.subject import Subject

SIZES = {"M": 4096, "N": 4096, "K": 4096}


def half(*shape):
    return T.Tensor(shape, "float16")


def space(kernel, *arguments, target="cuda:90", **keywords) -> Space:
    return space_of(Subject(kernel, arguments, keywords, target))


def values(found: Space) -> dict[str, tuple]:
    return {knob.name: knob.values for knob in found.knobs}


@pytest.fixture(scope="module")
def of_gemm():
    return space(gemm, **SIZES)


def test_tiles_are_constants_in_extents_of_tiles(of_gemm):
    found = values(of_gemm)
    assert found["tile.block_M"] == found["tile.block_N"] == (16, 32, 64, 128, 256)
    # The rows of 16-bit tiles are 256 bytes at most.
    assert found["tile.block_K"] == (16, 32, 64, 128)


def test_names_do_not_matter():
    @tile2triton.kernel(out_idx=[2])
    def matmul(n, q=64, w=32):
        @T.prim_func
        def main(
            A: T.Tensor((n, n), "int8"), B: T.Tensor((n, n), "int8"), C: T.Tensor((n, n), "int32")
        ):
            with T.Kernel(T.ceildiv(n, q), T.ceildiv(n, q)) as (x, y):
                a = T.alloc_shared((q, w), "int8")
                b = T.alloc_shared((w, q), "int8")
                c = T.alloc_fragment((q, q), "int32")
                T.clear(c)
                for k in T.Pipelined(T.ceildiv(n, w), num_stages=2):
                    T.copy(A[y * q, k * w], a)
                    T.copy(B[k * w, x * q], b)
                    T.gemm(a, b, c)
                T.copy(c, C[y * q, x * q])

        return main

    found = values(space(matmul, 100))
    # No tile is longer than what it tiles; products of bytes sum over 32 of them at least.
    assert found["tile.q"] == (16, 32, 64, 128)
    assert found["tile.w"] == (32, 64, 128)
    assert "tile.n" not in found
    assert "tile.q" not in values(space(matmul, 100, q=64))


def test_stages_and_warps_are_there_where_they_act(of_gemm):
    assert values(of_gemm)["pipeline"] == (1, 2, 3, 4, 5)
    assert values(of_gemm)["warps"] == (1, 2, 4, 8, 16)
    in_one_row = values(space(softmax, M=4096, N=1024))
    assert "pipeline" not in in_one_row
    assert "swizzle" not in in_one_row


def test_warps_stay_where_threads_are_counted():
    @tile2triton.kernel(out_idx=[1])
    def counted(n):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, 128), threads=128) as x:
                thread = T.get_thread_binding()
                C[x * 128 + thread] = A[x * 128 + thread] + 1

        return main

    assert "warps" not in values(space(counted, 1024))


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942"])
def test_choices_are_those_of_the_target(of_gemm, target):
    assert values(of_gemm)["subtile"] == (None, 2)
    found = values(space(gemm, target=target, **SIZES))
    assert "subtile" not in found
    assert found["persistent"] == (None, True)
    assert found["swizzle"] == (None, 4, 8, 16)


def test_whole_operands_have_extents_for_tiles():
    found = space(tile2triton.kernel(product), half(4096, 4096), half(4096, 4096))
    keys = {knob.constant: knob.key for knob in found.knobs if knob.annotation == "tile"}
    assert keys == {"block_M": "m", "block_N": "n", "block_K": "k"}
    assert "split.k" not in values(found)
    few = space(tile2triton.kernel(product), half(16, 8192), half(8192, 256))
    assert values(few)["split.k"] == (None, 2, 4, 8, 16)


def test_loops_of_grids_with_few_programs_are_split():
    few = space(gemm, half(16, 8192), half(8192, 2048))
    assert values(few)["split"] == (None, 2, 4, 8, 16)
    point = {**few.usual, "split": 8}
    assert few.schedule(point).as_dict()["split"] == 8


def test_turns_of_few_waves_are_shared_equally():
    found = space(gemm, **{**SIZES, "M": 2000})
    assert values(found)["stream_k"] == (None, True)
    ways = {(one["stream_k"], one["persistent"]) for one in itertools.islice(found.points(), 999)}
    assert ways == {(None, None), (None, True), (True, None)}
    assert "stream_k" not in values(space(gemm, M=8192, N=32768, K=512))


def test_two_extents_of_one_length_are_told_apart():
    operands = [half(2, 4, 1024, 64)] * 3
    found = values(space(tile2triton.kernel(attention), *operands))
    assert found["tile.m"] == found["tile.n"] == (16, 32, 64, 128, 256)


def test_what_annotations_say_stays():
    said = tile2triton.kernel(schedule=tile2triton.Schedule(tile={"m": 64}, warps=4))(product)
    found = values(space(said, half(512, 512), half(512, 512)))
    assert "tile.m" not in found
    assert "warps" not in found
    assert "tile.n" in found


def test_points_are_schedules_that_make_what_they_say(of_gemm):
    point = {**of_gemm.usual, "tile.block_M": 64, "warps": 4, "pipeline": 2, "persistent": True}
    schedule = of_gemm.schedule(point)
    assert repr(schedule) == (
        "Schedule(tile={'block_N': 256, 'block_M': 64, 'block_K': 64}, warps=4, pipeline=2, "
        "persistent=True)"
    )
    text = of_gemm.subject.made(schedule).triton_source
    assert "block_M = 64" in text
    assert "num_warps=4" in text


def test_points_are_in_one_order_and_begin_with_the_usual_one(of_gemm):
    points = list(of_gemm.points())
    assert len(points) == len(of_gemm)
    assert points == list(space(gemm, **SIZES).points())
    assert repr(of_gemm.schedule(points[0])) == "Schedule()"


def test_attention_keeps_its_heads_whole():
    found = values(space(flash_attention, 2, 4, 1024, 128))
    assert [name for name in found if name.startswith("tile")] == ["tile.block_M", "tile.block_N"]


def test_tiles_of_lanes_have_no_product():
    found = values(space(add))
    assert found["tile.block"] == tuple(1 << power for power in range(6, 15))
