"""Parts of tiles as operands: slices, rows and columns, fixed and known at run time only."""

import pytest
import torch

import tile2triton.language as T
from tests.three_meanings import agree
from tests.traced import agree_traced


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


COPIES = [
    "T.copy(t[0:n, :], C[0, 0])",
    "T.copy(t[0:n, 0:n], C[3, 5])",
    "T.copy(t[n:, :], C[0, 0])",
    "T.copy(A[0, 0], t[0:n, :])\n        T.copy(t, C)",
    "T.fill(t[0:n, :], 3)\n        T.copy(t, C)",
    "T.clear(t[1:n, n:])\n        T.copy(t, C)",
    "T.copy(t[:, n], row)\n        T.copy(row, C[0, 0:24])",
    "T.copy(t[n, :], row[0:20])\n        T.copy(row[0:20], C[1, 0:20])",
    "T.copy(row, t[:, n])\n        T.copy(t, C)",
    "T.copy(row[0:20], t[n, :])\n        T.copy(t, C)",
    "T.copy(t[0:n, :], u[0:n, :])\n        T.copy(u, C)",
    "T.copy(t[4:20, 0:16], u[0:16, 4:20])\n        T.copy(u, C)",
    "T.copy(t[8:16, :], u[n * 8 - 16:n * 8 - 8, :])\n        T.copy(u, C)",
    "T.copy(u, C[:, 0:20])",
]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("copies", COPIES)
def test_copy_of_a_part(copies, n, device):
    agree(
        f"""
        def k(A: T.Tensor((24, 20), "float32"), R: T.Tensor((24,), "float32"), n: T.int32,
              C: T.Tensor((24, 24), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_fragment((24, 20), "float32")
                u = T.alloc_fragment((24, 20), "float32")
                row = T.alloc_fragment((24,), "float32")
                whole = T.alloc_fragment((24, 24), "float32")
                T.clear(whole)
                T.copy(whole, C)
                T.fill(u, -1)
                T.copy(A, t)
                T.copy(R, row)
                T.sync_threads()
                {
            copies.replace("T.copy(t, C)", "T.copy(t, C[0, 0])")
            .replace("T.copy(u, C)", "T.copy(u, C[0, 0])")
            .replace(chr(10) + "        ", chr(10) + "                ")
        }
        """,
        [numbers(24, 20), numbers(24), n],
        device,
    )


@pytest.mark.parametrize("stage", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_stage_that_is_known_at_run_time_is_an_operand(stage, dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((3, 32, 48), "{dtype}"), B: T.Tensor((3, 48, 32), "{dtype}"),
              s: T.int32, C: T.Tensor((64, 32), "float32")):
            with T.Kernel(1, threads=64) as bx:
                a = T.alloc_shared((3, 32, 48), "{dtype}")
                b = T.alloc_shared((3, 48, 32), "{dtype}")
                acc = T.alloc_fragment((64, 32), "float32")
                T.clear(acc)
                for k in T.serial(3):
                    T.copy(A[k, 0, 0], a[k, :, :])
                    T.copy(B[k, :, :], b[k, :, :])
                T.gemm(a[s, :, :], b[s, :, :], acc[32:, :])
                T.gemm(a[(s + 1) % 3, :, :], b[s, :, :], acc[:32, :])
                T.copy(acc, C)
        """,
        [numbers(3, 32, 48).to(getattr(torch, dtype)), numbers(3, 48, 32).to(getattr(torch, dtype))]
        + [stage],
        device,
        tolerance=1e-3,
    )


@pytest.mark.parametrize(("m", "n"), [(32, 16), (24, 40), (5, 64)])
@pytest.mark.parametrize(("dtype", "out"), [("float16", "float32"), ("int8", "int8")])
def test_transpose(m, n, dtype, out, device):
    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), C: T.Tensor((n, m), out)):
        with T.Kernel(1, threads=64):
            t = T.alloc_shared((2, m, n), dtype)
            u = T.alloc_shared((n, m), out)
            T.clear(t)
            T.copy(A, t[1, :, :])
            T.transpose(t[1, :, :], u)
            T.copy(u, C)

    a = torch.randint(-9, 9, (m, n)).to(getattr(torch, dtype))
    outcome = agree_traced(kernel, [a], device)
    assert torch.equal(outcome.triton[0], a.T.to(getattr(torch, out)))


def test_transpose_of_other_shapes_is_refused():
    text = """
        def k(A: T.Tensor((16, 32), "float32"), C: T.Tensor((16, 32), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared((16, 32), "float32")
                u = T.alloc_shared((16, 32), "float32")
                T.copy(A, t)
                T.transpose(t, u)
                T.copy(u, C)
        """
    with pytest.raises(Exception) as raised:
        agree(text, [numbers(16, 32)], "cpu")
    assert [problem.code for problem in raised.value.problems] == ["T2T346"]


def test_layout_of_a_tensor_is_left_out_with_a_reason():
    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=64):
            t = T.alloc_shared((16, 32), "float32")
            T.annotate_layout({A: T.Layout((16, 32), lambda i, j: [j, i]), t: None})
            T.copy(A, t)
            T.copy(t, A)

    (erased,) = kernel.program().facts.erased
    assert erased.construct == "T.annotate_layout" and erased.line and "`A`" in erased.reason
