"""Views share the memory of their tile or tensor: writes through either are seen through both."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.three_meanings import agree
from tests.traced import agree_traced


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


SHAPES = [
    ((64,), (8, 8)),
    ((8, 24), (8, 3, 8)),
    ((8, 24), (8, 6, 4)),
    ((6, 10), (60,)),
    ((60,), (6, 10)),
    ((5, 12), (4, 15)),
    ((3, 4, 5), (60,)),
    ((3, 4, 5), (5, 12)),
    ((2, 384), (2, 3, 128)),
    ((1, 24), (24,)),
    ((24,), (2, 1, 12)),
    ((7, 1), (1, 7)),
    ((1, 1), (1,)),
    ((1,), (1, 1, 1)),
]


@pytest.mark.parametrize(("shape", "other"), SHAPES)
def test_reshaped_tile_reads_and_writes_its_base(shape, other, device):
    one, two = (", ".join(f"i{n}" for n in range(len(s))) for s in (shape, other))
    agree(
        f"""
        def k(A: T.Tensor({shape}, "float32"), B: T.Tensor({other}, "float32"),
              C: T.Tensor({shape}, "float32"), D: T.Tensor({other}, "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared({shape}, "float32")
                v = T.reshape(t, {other})
                T.copy(A, t)
                T.copy(v, D)
                for {two} in T.Parallel({", ".join(map(str, other))}):
                    v[{two}] = v[{two}] + B[{two}]
                for {one} in T.Parallel({", ".join(map(str, shape))}):
                    C[{one}] = t[{one}] * 2
        """,
        [numbers(*shape), numbers(*other)],
        device,
        outputs=("C", "D"),
    )


TYPES = [
    ("float32", "float16", 2),
    ("float16", "float32", 0.5),
    ("float32", "int32", 1),
    ("int8", "int32", 0.25),
    ("int32", "int8", 4),
    ("bfloat16", "uint16", 1),
    ("bfloat16", "int64", 0.25),
    ("float64", "uint8", 8),
    ("uint8", "float8_e4m3fn", 1),
]


def any_bits(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Ordinary numbers, whose bits are those of some value of another type."""
    if dtype.startswith(("int", "uint")):
        small = torch.randint(0, 100, shape)
        return small.to(getattr(torch, dtype))
    return numbers(*shape, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("rows", [8, 5])
@pytest.mark.parametrize("columns", [32, 24])
@pytest.mark.parametrize(("dtype", "other", "factor"), TYPES)
def test_view_of_another_type_keeps_the_bits(dtype, other, factor, rows, columns, device):
    shape, seen = (rows, columns), (rows, int(columns * factor))
    bits = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}[T.dtype(other).bits]
    text = f"""
        def k(A: T.Tensor({shape}, "{dtype}"), C: T.Tensor({seen}, "{bits}"),
              D: T.Tensor({shape}, "{dtype}")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared({shape}, "{dtype}")
                s = T.alloc_shared({shape}, "{dtype}")
                v = T.view(t, {seen}, "{other}")
                w = T.view(s, {seen}, "{other}")
                b = T.view(t, {seen}, "{bits}")
                T.copy(A, t)
                T.copy(b, C)
                T.copy(v, w)
                T.copy(s, D)
        """
    outcome = agree(text, [any_bits(shape, dtype)], device, outputs=("C", "D"))
    assert outcome.triton[1].shape == shape


LOOPS = """
def k(A: T.Tensor((4, 64), "float32"), n: T.int32, C: T.Tensor((8, 8), "float32")):
    with T.Kernel(1, threads=64) as bx:
        t = T.alloc_shared((64,), "float32")
        v = T.reshape(t, (8, 8))
        T.clear(t)
        for k in T.serial(n):
            {body}
        T.copy(v, C)
"""
BODIES = {
    "written through the view, read as the tile": """
            for i, j in T.Parallel(8, 8):
                v[i, j] = v[i, j] + A[k, i * 8 + j]
            for i in T.Parallel(64):
                t[i] = t[i] * 2""",
    "one name an iteration": """
            if k % 2 == 0:
                for i, j in T.Parallel(8, 8):
                    v[i, j] = v[i, j] + A[k, i * 8 + j]
            else:
                for i in T.Parallel(64):
                    t[i] = t[i] * 3 + A[k, i]""",
    "read before it is written by the other name": """
            for i, j in T.Parallel(8, 8):
                v[i, j] = v[j, i] + t[i * 8]
            for i in T.Parallel(64):
                t[i] += A[k, i]""",
    "written in a branch only": """
            if k > 1:
                for i, j in T.Parallel(8, 8):
                    v[i, j] += A[k, i * 8 + j]""",
    "a loop in a loop": """
            for m in T.serial(2):
                for i, j in T.Parallel(8, 8):
                    v[i, j] += A[k, i * 8 + j]
            for i in T.Parallel(64):
                t[i] += 1""",
    "both names in one T.Parallel": """
            for i, j in T.Parallel(8, 8):
                v[i, j] += A[k, i * 8 + j]
                C[i, j] = t[i * 8 + j]""",
}


@pytest.mark.parametrize("n", [0, 1, 3, 4])
@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_view_follows_its_tile_through_loops_and_branches(body, n, device):
    text = LOOPS.format(body=body.strip())
    agree(text, [numbers(4, 64), n], device)


def test_tile_that_is_scratch_space_under_another_type_is_not_converted(device):
    """The old content is dead each time, so no bits need to be taken apart."""
    text = """
        def k(A: T.Tensor((4, 32, 64), "float16"), C: T.Tensor((4, 16, 64), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared((32, 64), "float16")
                v = T.view(t, (16, 64), "float32")
                acc = T.alloc_fragment((16, 64), "float32")
                for k in T.serial(4):
                    T.copy(A[k, 0, 0], t)
                    for i, j in T.Parallel(16, 64):
                        acc[i, j] = t[i, j] * 2
                    T.copy(acc, v)
                    T.copy(v, C[k, 0, 0])
        """
    outcome = agree(text, [numbers(4, 32, 64, dtype=torch.float16)], device)
    assert "tl.split" not in outcome.text and "bitcast" not in outcome.text


def test_views_in_pythons_syntax(device):
    @T.prim_func
    def kernel(A: T.Tensor((64, 24), "float32"), C: T.Tensor((64, 3), "float32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_fragment((64, 24), "float32")
            box = T.reshape(s, (64, 3, 8))
            row = T.Tensor((64 * 24,), "float32", s.data)
            again = s
            T.copy(A, again)
            for i in T.Parallel(64 * 24):
                row[i] = row[i] * 2
            total = T.alloc_fragment((64, 3), "float32")
            T.reduce_sum(box, total, dim=-1)
            T.copy(total, C)

    a = numbers(64, 24)
    outcome = agree_traced(kernel, [a], device)
    torch.testing.assert_close(outcome.triton[0], 2 * a.reshape(64, 3, 8).sum(-1))


def test_view_of_a_tensor_is_the_same_memory(device):
    m = T.dynamic("m")

    @T.prim_func
    def kernel(A: T.Tensor((m, 6, 10), "float32"), C: T.Tensor((m, 60), "float32")):
        flat = T.reshape(A, (m * 60,))
        out = T.Tensor((m * 6, 10), "float32", C.data)
        bits = T.view(C, dtype="int32")
        with T.Kernel(T.ceildiv(m * 6, 16), threads=64) as bx:
            rows = T.alloc_shared((16, 10), "float32")
            for i, j in T.Parallel(16, 10):
                rows[i, j] = flat[(bx * 16 + i) * 10 + j] + 1
            T.copy(rows, out[bx * 16, 0])
            for i, j in T.Parallel(16, 10):
                if out[bx * 16 + i, j] < 0:
                    bits[(bx * 16 + i) // 6, (bx * 16 + i) % 6 * 10 + j] = 0

    a = numbers(7, 6, 10)
    outcome = agree_traced(kernel, [a], device)
    torch.testing.assert_close(outcome.triton[0], (a.reshape(7, 60) + 1).clamp_min(0))


def test_store_through_a_view_is_ordered_before_a_load_of_the_tensor():
    text = """
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32"),
              D: T.Tensor((8, 8), "float32", C.data)):
            with T.Kernel(1, threads=64) as bx:
                for i, j in T.Parallel(8, 8):
                    D[i, j] = A[i * 8 + j]
                for i in T.Parallel(64):
                    C[i] = C[63 - i] + 1
        """
    outcome = agree(text, [numbers(64)], "cpu")
    assert outcome.text.count("tl.debug_barrier()") == 1


def test_part_of_a_tile_has_a_name(device):
    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            t = T.alloc_shared((32, 64), "float32")
            T.copy(A, t)
            half = t[:, 32:]
            T.fill(half[0:3, 1:5], 7)
            for i, j in T.Parallel(4, 4):
                half[8 + i, j] = A[i, j]
            T.copy(t, C)

    a = numbers(32, 64)
    outcome = agree_traced(kernel, [a], device)
    wanted = a.clone()
    wanted[0:3, 33:37] = 7
    wanted[8:12, 32:36] = a[:4, :4]
    torch.testing.assert_close(outcome.triton[0], wanted)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda t: T.reshape(t, (7, 9)), "T2T341"),
        (lambda t: T.view(t, (64,), "float16"), "T2T341"),
        (lambda t: T.view(t, (256,), "bool"), "T2T342"),
        (lambda t: T.reshape(t[0:4, :], (32,)), "T2T340"),
        (lambda t: T.Tensor((64,), "float32", t), "T2T151"),
    ],
)
def test_view_that_does_not_fit_is_refused(make, code):
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            t = T.alloc_shared((8, 8), "float32")
            make(t)
            T.copy(t, A)

    with pytest.raises(tile2triton.Error, match=code):
        kernel.program()


def test_two_names_of_one_memory_in_one_loop_with_a_let_are_refused():
    text = """
        def k(A: T.Tensor((64,), "float32"), C: T.Tensor((8, 8), "float32")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared((64,), "float32")
                v = T.reshape(t, (8, 8))
                T.copy(A, t)
                for i, j in T.Parallel(8, 8):
                    x = t[i * 8 + j]
                    v[j, i] = x
                T.copy(v, C)
        """
    with pytest.raises(Exception, match="by one name and uses it by another"):
        agree(text, [numbers(64)], "cpu")
