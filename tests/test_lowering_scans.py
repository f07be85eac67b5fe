"""Running sums and maxima, questions about many elements, and reductions of bits."""

import pytest
import torch

from tests.test_lowering_atomics import random
from tests.three_meanings import agree

TOLERANCES = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 4e-6}


@pytest.mark.parametrize("operator", ["cumsum", "cummax"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(32, 16), (20, 27)])
def test_matrix_is_scanned_along_each_dimension(operator, dim, reverse, shape, device):
    rows, columns = shape
    agree(
        f"""
        def k(A: T.Tensor(({rows}, {columns}), "float32"),
              B: T.Tensor(({rows}, {columns}), "float32"),
              C: T.Tensor(({rows}, {columns}), "float32")):
            with T.Kernel(1, threads=128) as bx:
                x = T.alloc_shared(({rows}, {columns}), "float32")
                y = T.alloc_fragment(({rows}, {columns}), "float32")
                T.copy(A, x)
                T.{operator}(x, dst=y, dim={dim}, reverse={reverse})
                T.{operator}(x, dst=x, dim={dim}, reverse={not reverse})
                T.copy(x, B)
                T.copy(y, C)
        """,
        [random(shape, "float32")],
        device,
        outputs=("B", "C"),
        tolerance=4e-6,
    )


@pytest.mark.parametrize("operator", ["cumsum", "cummax"])
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8"]
)
@pytest.mark.parametrize("length", [1, 37, 64])
def test_vector_of_every_type_is_scanned_in_its_type(operator, dtype, length, device):
    values = random((length,), dtype if dtype != "uint8" else "int32").to(getattr(torch, dtype))
    agree(
        f"""
        def k(A: T.Tensor(({length},), "{dtype}"), C: T.Tensor(({length},), "{dtype}"),
              D: T.Tensor(({length},), "float32")):
            with T.Kernel(1, threads=128) as bx:
                x = T.alloc_shared(({length},), "{dtype}")
                y = T.alloc_fragment(({length},), "float32")
                T.copy(A, x)
                T.{operator}(x, dst=y, reverse=True)
                T.{operator}(x, dst=x)
                T.copy(x, C)
                T.copy(y, D)
        """,
        [values],
        device,
        outputs=("C", "D"),
        tolerance=TOLERANCES.get(dtype),
    )


def test_largest_passes_over_nan(device):
    values = random((40,), "float32")
    values[0] = values[5] = values[38] = values[39] = torch.nan
    agree(
        """
        def k(A: T.Tensor((40,), "float32"), C: T.Tensor((40,), "float32"),
              D: T.Tensor((40,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                x = T.alloc_shared((40,), "float32")
                y = T.alloc_shared((40,), "float32")
                T.copy(A, x)
                T.cummax(x, dst=y, reverse=True)
                T.cummax(x, dst=x)
                T.copy(x, C)
                T.copy(y, D)
        """,
        [values],
        device,
        outputs=("C", "D"),
    )


def test_part_of_a_tile_is_scanned(device):
    agree(
        """
        def k(A: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
            with T.Kernel(1, threads=128) as bx:
                x = T.alloc_shared((32, 32), "float32")
                T.copy(A, x)
                T.cumsum(x[4:20, 8:32], dst=x[4:20, 8:32], dim=1, reverse=True)
                T.copy(x, C)
        """,
        [random((32, 32), "float32")],
        device,
        tolerance=4e-6,
    )


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "uint8"])
@pytest.mark.parametrize("length", [1, 3, 16])
def test_questions_about_rows_and_tiles(dtype, length, device):
    generator = torch.Generator().manual_seed(1)
    mask = torch.randint(0, 3, (24, length), generator=generator)
    mask[3:9] = torch.randint(0, 2, (6, length), generator=generator)
    mask[10:20] = 1
    mask[20:] = 0
    agree(
        f"""
        def k(M: T.Tensor((24, {length}), "{dtype}"), C: T.Tensor((26, 4), "int32")):
            with T.Kernel(26, threads=128) as bx:
                t = T.alloc_shared(({length},), "{dtype}")
                T.copy(M[bx, 0], t)
                C[bx, 0] = 0
                C[bx, 1] = 0
                C[bx, 2] = 0
                C[bx, 3] = 0
                if T.any_of(M[bx, :]):
                    C[bx, 0] = 1
                if T.all_of(M[bx, :]):
                    C[bx, 1] = 1
                if T.any_of(t):
                    C[bx, 2] = 1
                if T.all_of(t[0:{max(length - 1, 1)}]) and bx < 22:
                    C[bx, 3] = 1
        """,
        [mask.to(getattr(torch, dtype))],
        device,
    )


@pytest.mark.parametrize("operator", ["reduce_bitand", "reduce_bitor", "reduce_bitxor"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("columns", [32, 21])
def test_bits_are_reduced_along_a_dimension(operator, dtype, columns, device):
    """Of 40 rows the tile has all, of the columns a number that is no power of two."""
    generator = torch.Generator().manual_seed(2)
    values = torch.randint(0, 2**7, (40, columns), generator=generator)
    values |= 1 << torch.randint(0, 7, (40, 1), generator=generator)
    agree(
        f"""
        def k(A: T.Tensor((40, {columns}), "{dtype}"), C: T.Tensor((40,), "{dtype}"),
              D: T.Tensor((1, {columns}), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_fragment((40, {columns}), "{dtype}")
                r = T.alloc_fragment((40,), "{dtype}")
                d = T.alloc_fragment((1, {columns}), "{dtype}")
                T.copy(A, a)
                T.{operator}(a, r, dim=1)
                T.reduce(a, r, "{operator.removeprefix("reduce_")}", dim=1, clear=False)
                T.{operator}(a, d, dim=-2)
                T.copy(r, C)
                T.copy(d, D)
        """,
        [values.to(getattr(torch, dtype))],
        device,
        outputs=("C", "D"),
    )


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("kind", ["sum", "max", "bitxor"])
def test_cube_is_reduced_along_each_dimension(dim, kind, device):
    shape = [8, 12, 16]
    del shape[dim]
    dtype = "int32" if kind == "bitxor" else "float32"
    agree(
        f"""
        def k(A: T.Tensor((8, 12, 16), "{dtype}"), C: T.Tensor(({shape[0]}, {shape[1]}), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_fragment((8, 12, 16), "{dtype}")
                r = T.alloc_fragment(({shape[0]}, {shape[1]}), "{dtype}")
                T.copy(A, a)
                T.reduce_{kind}(a, r, dim={dim}, batch=4)
                T.copy(r, C)
        """,
        [random((8, 12, 16), dtype)],
        device,
    )


def test_bits_of_a_vector_make_one_number(device):
    agree(
        """
        def k(A: T.Tensor((40,), "int32"), C: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_fragment((40,), "int32")
                r = T.alloc_fragment((1,), "int32")
                T.copy(A, a)
                T.reduce_bitxor(a, r)
                T.copy(r, C)
        """,
        [random((40,), "int32")],
        device,
    )


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("shape", "dim"), [((32, 16), 0), ((20, 27), 1), ((1, 5), -2)])
def test_recurrences_go_on_from_a_start(dtype, shape, dim, device):
    rows, columns = shape
    rest = columns if dim in (0, -2) else rows
    agree(
        f"""
        def k(A: T.Tensor(({rows}, {columns}), "{dtype}"),
              B: T.Tensor(({rows}, {columns}), "{dtype}"),
              S: T.Tensor(({rest},), "{dtype}"),
              C: T.Tensor(({rows}, {columns}), "float32"),
              D: T.Tensor(({rows}, {columns}), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared(({rows}, {columns}), "{dtype}")
                b = T.alloc_fragment(({rows}, {columns}), "{dtype}")
                s = T.alloc_fragment(({rest},), "{dtype}")
                h = T.alloc_fragment(({rows}, {columns}), "float32")
                T.copy(A, a)
                T.copy(B, b)
                T.copy(S, s)
                T.linear_scan(a, b, h, start=s, dim={dim})
                T.linear_scan(a, b, b, dim={dim})
                T.copy(h, C)
                T.copy(b, D)
        """,
        [random(shape, dtype), random(shape, dtype), random((rest,), dtype)],
        device,
        outputs=("C", "D"),
        tolerance=TOLERANCES[dtype],
    )


def test_a_recurrence_of_one_row_without_other_dimensions(device):
    agree(
        """
        def k(A: T.Tensor((37,), "float32"), C: T.Tensor((37,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_fragment((37,), "float32")
                s = T.alloc_fragment((1,), "float32")
                T.copy(A, a)
                T.fill(s, 0.5)
                T.linear_scan(a, a, a, start=s)
                T.copy(a, C)
        """,
        [random((37,), "float32")],
        device,
        tolerance=4e-6,
    )
