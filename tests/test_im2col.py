"""T.im2col: the patches of images, against torch's convolution."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.three_meanings import agree
from tests.traced import agree_traced


def convolution(n, h, w, c, f, kernel, stride, dilation, pad, tile=(64, 32, 32)):
    block_M, block_N, block_K = tile
    reach = (kernel - 1) * dilation + 1
    OH, OW = ((size + 2 * pad - reach) // stride + 1 for size in (h, w))

    @T.prim_func
    def main(
        A: T.Tensor((n, h, w, c), "float16"),
        B: T.Tensor((kernel, kernel, c, f), "float16"),
        C: T.Tensor((n, OH, OW, f), "float32"),
    ):
        with T.Kernel(T.ceildiv(f, block_N), T.ceildiv(n * OH * OW, block_M)) as (bx, by):
            patches = T.alloc_shared((block_M, block_K), "float16")
            weights = T.alloc_shared((block_K, block_N), "float16")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            rows = T.Tensor((kernel * kernel * c, f), "float16", B.data)
            out = T.Tensor((n * OH * OW, f), "float32", C.data)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(kernel * kernel * c, block_K), num_stages=2):
                T.im2col(A, patches, by, k, kernel, stride, dilation, pad)
                T.copy(rows[k * block_K, bx * block_N], weights)
                T.gemm(patches, weights, acc)
            T.copy(acc, out[by * block_M, bx * block_N])

    return main


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "dilation", "pad"),
    [
        ((2, 8, 8, 32, 32), 3, 1, 1, 1),
        ((1, 9, 7, 16, 24), 3, 2, 1, 1),
        ((1, 11, 10, 8, 32), 2, 1, 3, 0),
        ((3, 5, 5, 5, 7), 1, 1, 1, 0),
        ((1, 6, 6, 24, 16), 5, 1, 1, 2),
    ],
)
def test_convolution_is_torchs(shape, kernel, stride, dilation, pad, device):
    n, h, w, c, f = shape
    a = torch.randn(n, h, w, c).half()
    b = torch.randn(kernel, kernel, c, f).half()
    program = convolution(*shape, kernel, stride, dilation, pad)
    outcome = agree_traced(program, [a, b], device)
    wanted = torch.nn.functional.conv2d(
        a.permute(0, 3, 1, 2).float(),
        b.permute(3, 2, 0, 1).float(),
        stride=stride,
        padding=pad,
        dilation=dilation,
    ).permute(0, 2, 3, 1)
    torch.testing.assert_close(outcome.triton[0], wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "float8_e4m3fn"])
def test_block_of_patches_of_any_type_into_part_of_a_tile(dtype, device):
    a = torch.randint(-9, 9, (2, 6, 7, 5)).to(torch.float32).to(getattr(torch, dtype))
    agree(
        f"""
        def k(A: T.Tensor((2, 6, 7, 5), "{dtype}"), s: T.int32,
              C: T.Tensor((2, 24, 48), "{dtype}")):
            with T.Kernel(4, threads=128) as bx:
                t = T.alloc_shared((2, 24, 48), "{dtype}")
                T.clear(t)
                T.c2d_im2col(A, t[1, :, :], bx, s, 3, 1, 1, 1)
                if bx == 3:
                    T.copy(t, C)
        """,
        [a, 0],
        device,
    )


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("T.im2col(A, t, bx, 0, 3, 1, 1, -1)", "T2T345"),
        ("T.im2col(A, t, bx, 0, bx, 1, 1, 1)", "T2T345"),
        ("T.im2col(t, t, bx, 0, 3, 1, 1, 1)", "T2T344"),
        ("T.im2col(A, f, bx, 0, 3, 1, 1, 1)", "T2T344"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call, code):
    with pytest.raises(Exception) as raised:
        agree(
            f"""
            def k(A: T.Tensor((2, 6, 7, 5), "float16"), C: T.Tensor((24, 48), "float16")):
                with T.Kernel(4, threads=128) as bx:
                    t = T.alloc_shared((24, 48), "float16")
                    f = T.alloc_shared((24, 48), "float32")
                    T.clear(f)
                    {call}
                    T.copy(t, C)
            """,
            [torch.zeros(2, 6, 7, 5).half()],
            "cpu",
        )
    assert code in [problem.code for problem in raised.value.problems]
    assert not isinstance(raised.value, tile2triton.Error)
