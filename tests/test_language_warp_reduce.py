"""Values of the threads of a warp, combined for each of them."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel
from tests.test_lowering_atomics import random


def combined(values, op, lanes):
    """What torch makes of rows of one warp each."""
    rows = values.reshape(-1, lanes)
    if op in ("max", "min"):
        total = getattr(rows, op)(1).values
    elif op == "sum":
        total = rows.sum(1, dtype=values.dtype)
    else:
        total = rows[:, 0]
        for lane in range(1, lanes):
            total = total & rows[:, lane] if op == "bitand" else total | rows[:, lane]
    return total.repeat_interleave(lanes)


@pytest.mark.parametrize("threads", [32, 96, 128])
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        ("warp_reduce_sum", "float32"),
        ("warp_reduce_sum", "int64"),
        ("warp_reduce_sum", "float16"),
        ("warp_reduce_max", "float32"),
        ("warp_reduce_max", "bfloat16"),
        ("warp_reduce_min", "int32"),
        ("warp_reduce_bitand", "int64"),
        ("warp_reduce_bitor", "int32"),
        ("warp_reduce_bitor", "uint8"),
    ],
)
def test_every_thread_has_what_its_warp_comes_to(op, dtype, threads, device):
    reduce = getattr(T, op)

    @tile2triton.kernel(out_idx=[-1])
    def factory():
        @T.prim_func
        def main(A: T.Tensor((threads,), dtype), B: T.Tensor((threads,), dtype)):
            with T.Kernel(1, threads=threads):
                tx = T.get_thread_binding()
                x = T.alloc_local([1], dtype)
                x[0] = A[tx]
                B[tx] = reduce(x[0])

        return main

    a = random((threads,), dtype)
    tolerance = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 0.0}.get(dtype, 0.0)
    (made,) = run_kernel(factory(), [a], device, tolerance)
    rtol = 5e-3 if dtype == "float16" else 1e-5
    torch.testing.assert_close(
        made, combined(a, op.rpartition("_")[2], 32), rtol=rtol, atol=1e-2 if rtol > 1e-3 else 0
    )


def test_values_that_are_the_same_in_all_threads_count_for_each(device):
    @tile2triton.kernel
    def counted():
        out = T.empty((64,), "int32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.warp_reduce_sum(1)
            out[tx] = total + T.warp_reduce_max(tx)
        return out

    (made,) = run_kernel(counted, [], device)
    assert made.tolist() == [32 + 31] * 32 + [32 + 63] * 32


def test_warps_of_amd_have_64_threads():
    @tile2triton.kernel(target="hip:gfx942", out_idx=[-1])
    def factory():
        @T.prim_func
        def main(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                tx = T.get_thread_binding()
                B[tx] = T.warp_reduce_sum(A[tx])

        return main

    a = random((128,), "int32")
    (made,) = run_kernel(factory(), [a], "cpu")
    assert torch.equal(made, combined(a, "sum", 64))


def test_first_lane_may_store_what_all_have_summed(device):
    @tile2triton.kernel
    def sums(A, n: int = 4):
        A: T.Tensor((n, 64), "float32")
        out = T.empty((n, 2), "float32")
        with T.Kernel(n, threads=64) as bx:
            tx = T.get_thread_binding()
            total = T.alloc_var("float32")
            total = 0.0
            for i in T.serial(3):
                total += T.warp_reduce_sum(A[bx, tx] * i)
            if T.get_lane_idx() == 0:
                out[bx, tx // 32] = total
        return out

    a = random((4, 64), "float32")
    (made,) = run_kernel(sums, [a], device, 1e-6)
    torch.testing.assert_close(made, a.reshape(4, 2, 32).sum(2) * 3, rtol=1e-5, atol=1e-5)


def under_a_condition(A, B, tx):
    if A[tx] > 0:
        B[tx] = T.warp_reduce_sum(A[tx])


def of_floats_as_bits(A, B, tx):
    B[tx] = T.warp_reduce_bitor(A[tx])


def whole(A, B, tx):
    B[tx] = T.warp_reduce_sum(A[tx])


@pytest.mark.parametrize(
    ("body", "threads", "code"),
    [
        (under_a_condition, 64, "T2T626"),
        (whole, 48, "T2T626"),
        (of_floats_as_bits, 64, "T2T612"),
    ],
)
def test_what_is_no_whole_warp_or_no_bits_is_refused(body, threads, code):
    macro = T.macro(body)

    @tile2triton.kernel(out_idx=[-1])
    def factory():
        @T.prim_func
        def main(A: T.Tensor((threads,), "float32"), B: T.Tensor((threads,), "float32")):
            with T.Kernel(1, threads=threads):
                macro(A, B, T.get_thread_binding())

        return main

    with pytest.raises(tile2triton.Error, match=code):
        factory().triton_source  # noqa: B018


def test_loop_of_the_users_own_has_no_warps():
    @tile2triton.kernel(out_idx=[-1])
    def factory():
        @T.prim_func
        def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=64):
                for i in T.Parallel(64):
                    B[i] = T.warp_reduce_sum(A[i])

        return main

    with pytest.raises(tile2triton.Error, match="T2T714"):
        factory().triton_source  # noqa: B018
