"""Atomic updates: sums, maxima, minima and bits, of elements, regions and tiles, three meanings."""

import pytest
import torch

from tests.three_meanings import agree

FLOATS = ["float32", "float64"]
WHOLE = ["int32", "int64"]
OPERATIONS = ["atomic_add", "atomic_max", "atomic_min"]


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.startswith("int"):
        return torch.randint(-50, 50, shape, generator=generator).to(getattr(torch, dtype))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(getattr(torch, dtype))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
@pytest.mark.parametrize("columns", [32, 27])
def test_elements_that_meet_are_combined(operation, dtype, columns, device):
    """A row for each `i`, of which all columns meet; the last rows lie outside."""
    agree(
        f"""
        def k(A: T.Tensor((48, {columns}), "{dtype}"), C: T.Tensor((48, {columns}), "{dtype}"),
              r: T.Tensor((44,), "{dtype}")):
            with T.Kernel(3, threads=128) as bx:
                a = T.alloc_shared((16, {columns}), "{dtype}")
                T.copy(A[bx * 16, 0], a)
                for i, j in T.Parallel(16, {columns}):
                    T.{operation}(r[bx * 16 + i], a[i, j])
                    T.{operation}(C[bx * 16 + i, j], a[i, j])
        """,
        [random((48, columns), dtype), random((48, columns), dtype, 1), random((44,), dtype, 2)],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_gathered_elements_are_combined_and_others_dropped(operation, dtype, device):
    index = torch.randint(-2, 12, (64,), generator=torch.Generator().manual_seed(3)).int()
    agree(
        f"""
        def k(A: T.Tensor((64,), "{dtype}"), I: T.Tensor((64,), "int32"),
              C: T.Tensor((10,), "{dtype}")):
            with T.Kernel(2, threads=128) as bx:
                for i in T.Parallel(32):
                    if A[bx * 32 + i] < 1:
                        T.{operation}(C[I[bx * 32 + i]], A[bx * 32 + i], memory_order="release")
        """,
        [random((64,), dtype), index, random((10,), dtype, 1)],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shape", [(32, 32), (24, 20)])
def test_regions_and_numbers_update_parts_of_tensors(operation, shape, device):
    rows, columns = shape
    agree(
        f"""
        def k(A: T.Tensor(({rows}, {columns}), "float32"), C: T.Tensor((40, 40), "float32"),
              D: T.Tensor(({rows}, {columns}), "float32"), n: T.Tensor((1,), "float32")):
            with T.Kernel(2, threads=128) as bx:
                a = T.alloc_fragment(({rows}, {columns}), "float32")
                T.copy(A, a)
                T.{operation}(C[bx * 20, 4], a)
                T.{operation}(C[0:{rows}, 3:{columns + 3}], A)
                T.{operation}(D, 0.25)
                T.{operation}(C[8:20, 3:5], 0.5, memory_order="seq_cst")
                T.{operation}(n, 1)
        """,
        [
            random(shape, "float32"),
            random((40, 40), "float32", 1),
            random(shape, "float32", 2),
            random((1,), "float32", 3),
        ],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int8"])
def test_tile_of_the_program_is_updated_in_order(operation, dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((16, 20), "{dtype}"), C: T.Tensor((16,), "{dtype}"),
              D: T.Tensor((16, 20), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_fragment((16, 20), "{dtype}")
                r = T.alloc_shared((16,), "{dtype}")
                d = T.alloc_shared((16, 20), "{dtype}")
                T.copy(A, a)
                T.fill(r, 3)
                T.fill(d, 1)
                for i, j in T.Parallel(16, 20):
                    if j < 18:
                        T.{operation}(r[i], a[i, j])
                T.{operation}(d, a)
                T.{operation}(d[0:4, 2:6], 2)
                T.copy(r, C)
                T.copy(d, D)
        """,
        [random((16, 20), dtype)],
        device,
        outputs=("C", "D"),
        tolerance=2e-3 if dtype == "float16" else None,
    )


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_bits_are_set_by_many_iterations(dtype, device):
    values = torch.randint(0, 2**30, (64,), generator=torch.Generator().manual_seed(5))
    torch_dtype = getattr(torch, dtype)
    agree(
        f"""
        def k(A: T.Tensor((64,), "{dtype}"), C: T.Tensor((8,), "{dtype}"),
              n: T.Tensor((1,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(64):
                    T.atomic_or(C[i % 8], A[i])
                for i in T.Parallel(52):
                    T.atomic_or(n[0], A[i])
        """,
        [
            values.to(torch_dtype),
            torch.ones(8, dtype=torch_dtype),
            torch.zeros(1, dtype=torch_dtype),
        ],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("operation", OPERATIONS)
def test_value_before_is_returned_for_elements(operation, device):
    agree(
        f"""
        def k(A: T.Tensor((40,), "float32"), C: T.Tensor((36,), "float32"),
              P: T.Tensor((40,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(40):
                    if i < 36:
                        previous = T.{operation}(C[i], A[i], return_prev=True)
                        P[i] = previous
        """,
        [random((40,), "float32"), random((36,), "float32", 1), torch.zeros(40)],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("operation", ["atomic_max", "atomic_min"])
def test_nan_changes_nothing(operation, device):
    values = random((64,), "float32")
    values[::3] = torch.nan
    agree(
        f"""
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((8,), "float32"),
              r: T.Tensor((1,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(64):
                    T.{operation}(C[i % 8], A[i])
                for i in T.Parallel(64):
                    T.{operation}(r[0], A[i])
        """,
        [values, torch.zeros(8), torch.zeros(1)],
        device,
        outputs=(),
    )
