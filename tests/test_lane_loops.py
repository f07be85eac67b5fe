"""Loops in T.Parallel, and loops of single threads, whose bounds and conditions differ by lane."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from rewrites.errors import RewriteError
from tests.both_meanings import run_kernel
from tests.three_meanings import agree
from tile2triton.diagnostics import TileError


@tile2triton.kernel
def nested(A, C, limit: T.int32, M: int, N: int):
    A: T.Tensor((M, N), "int32")
    C: T.Tensor((M, N), "int32")
    with T.Kernel(1, threads=32):
        for i, j in T.Parallel(M, N):
            n = T.alloc_var("int32", 0)
            if (i + j) % 2 == 0:
                while n < i:
                    n += 2
                    if n == 6:
                        break
                    k = T.alloc_var("int32", 0)
                    while k < j and A[i, k] < limit:
                        k += 1
                        if k == 2:
                            continue
                        n += k
            else:
                for k in T.serial(i, j, -2):
                    n += k
                for k in T.serial(j, i + 3, 3):
                    if k == 7:
                        break
                    n += 100 * k
                for k in T.serial(2):
                    n += k
            C[i, j] = n


def meant(i, j, limit, a):
    n = 0
    if (i + j) % 2 == 0:
        while n < i:
            n += 2
            if n == 6:
                break
            k = 0
            while k < j and a[i, k] < limit:
                k += 1
                if k == 2:
                    continue
                n += k
        return n
    for k in range(i, j, -2):
        n += k
    for k in range(j, i + 3, 3):
        if k == 7:
            break
        n += 100 * k
    return n + 1


@pytest.mark.parametrize("limit", [0, 40, 1000])
@pytest.mark.parametrize(("m", "n"), [(12, 5), (16, 8), (1, 3)])
def test_each_lane_turns_as_often_as_it_would_alone(m, n, limit, device):
    a = torch.arange(m * n, dtype=torch.int32).reshape(m, n)
    zeros = torch.zeros(m, n, dtype=torch.int32)
    _, c = run_kernel(nested, [a, zeros, limit], device, M=m, N=n)
    expected = [[meant(i, j, limit, a) for j in range(n)] for i in range(m)]
    assert c.tolist() == expected


def test_bounds_are_loaded_and_what_lies_behind_the_last_lane_does_not_count(device):
    @tile2triton.kernel
    def sums(A, C):
        A: T.Tensor((13,), "int32")
        C: T.Tensor((13,), "int32")
        with T.Kernel(1, threads=32):
            counts = T.alloc_fragment((13,), "int32")
            T.copy(A, counts)
            for i in T.Parallel(13):
                counts[i] = counts[i] + 1
            for i in T.Parallel(13):
                n = counts[i] - 1
                s = T.alloc_var("int32", 0)
                for j in T.serial(n):
                    s += j + i
                C[i] = s
            for i in T.Parallel(13):
                for j in T.serial(3):
                    C[i] += j

    a = torch.randint(-3, 9, (13,), dtype=torch.int32)
    _, c = run_kernel(sums, [a, torch.zeros(13, dtype=torch.int32)], device)
    assert c.tolist() == [sum(j + i for j in range(int(n))) + 3 for i, n in enumerate(a)]


def test_an_extent_that_the_body_changes_is_looked_at_once(device):
    @tile2triton.kernel
    def once(C):
        C: T.Tensor((8,), "int32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                n = T.alloc_var("int32", i)
                for _ in T.serial(n):
                    n += 1
                C[i] = n

    (c,) = run_kernel(once, [torch.zeros(8, dtype=torch.int32)], device)
    assert c.tolist() == [2 * i for i in range(8)]


def test_a_name_of_an_earlier_loop_is_no_bound(device):
    @tile2triton.kernel
    def siblings(C):
        C: T.Tensor((16,), "int32")
        with T.Kernel(1, threads=32):
            for i in T.serial(4):
                C[i] = 100
            for i in T.Parallel(16):
                s = T.alloc_var("int32", 0)
                for j in T.serial(i + 1):
                    s += j
                C[i] += s

    (c,) = run_kernel(siblings, [torch.zeros(16, dtype=torch.int32)], device)
    assert c.tolist() == [i * (i + 1) // 2 + 100 * (i < 4) for i in range(16)]


def test_threads_stride_through_a_tensor_and_leave_loops_by_themselves(device):
    @tile2triton.kernel
    def strides(C, D):
        C: T.Tensor((70,), "int32")
        D: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            for i in T.serial(tx, 70, 32):
                C[i] = i * 2 + tx
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            if bx * 64 + tx >= 40:
                return
            n = T.alloc_var("int32", 0)
            for i in T.serial(10):
                if i > tx:
                    break
                if i == 3:
                    continue
                n += i
            while n > 20:
                n -= 7
            D[bx * 64 + tx] = n

    zeros = [torch.zeros(n, dtype=torch.int32) for n in (70, 64)]
    c, d = run_kernel(strides, zeros, device)
    assert c.tolist() == [i * 2 + i % 32 for i in range(70)]
    expected = []
    for thread in range(40):
        n = sum(i for i in range(min(10, thread + 1)) if i != 3)
        expected.append(n if n <= 20 else n - 7 * -((20 - n) // 7))
    assert d.tolist() == expected + [0] * 24


def test_atomics_that_each_thread_would_do_are_refused():
    @tile2triton.kernel
    def unguarded(A, C):
        A: T.Tensor((64,), "int32")
        C: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=64) as bx:
            tx = T.get_thread_binding()
            if bx == 0:
                T.atomic_add(C[0], 1)
            A[tx] = 5

    with pytest.raises(TileError, match=r"T2T708.*each of 64 threads"):
        unguarded.compile()


@T.macro
def count(C):
    T.atomic_add(C[0], 1)


def test_atomics_outside_of_loops_over_elements_are_refused_where_no_thread_is_named():
    @tile2triton.kernel
    def plain(C):
        C: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=32):
            T.atomic_add(C[0], 1)

    @tile2triton.kernel
    def in_a_loop(C):
        C: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=32) as bx:
            for i in T.serial(4):
                if bx == 0:
                    T.atomic_addx2(C[i], C[i + 4])

    @tile2triton.kernel
    def in_a_macro(C):
        C: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=32):
            count(C)

    @tile2triton.kernel
    def on_a_tile(C):
        C: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((64,), "int32")
            T.copy(C, tile)
            before = T.atomic_add(tile[0], 1, return_prev=True)
            C[0] = before

    for kernel in (plain, in_a_loop, in_a_macro, on_a_tile):
        with pytest.raises(TileError, match=r"T2T708.*each of 32 threads"):
            kernel.compile()


def test_atomics_of_one_thread_and_of_regions_need_no_condition(device):
    @tile2triton.kernel
    def single(C, D):
        C: T.Tensor((8,), "int32")
        D: T.Tensor((8,), "int32")
        with T.Kernel(2, threads=1) as bx:
            T.atomic_add(C[0], 3)
        with T.Kernel(2, threads=32) as bx:
            tile = T.alloc_shared((4,), "int32")
            T.fill(tile, bx + 1)
            T.atomic_add(D[2], tile)
            T.atomic_add(D[0:2], 5)

    c, d = (torch.zeros(8, dtype=torch.int32, device=device) for _ in range(2))
    single(c, d)
    assert c.tolist() == [6] + [0] * 7
    assert d.tolist() == [10, 10, 3, 3, 3, 3, 0, 0]


def test_atomics_of_lanes_roles_and_iterations_are_counted(device):
    @tile2triton.kernel
    def counted(A, C):
        A: T.Tensor((64,), "int32")
        C: T.Tensor((6,), "int32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if A[tx] > 20:
                T.atomic_add(C[0], 1)
            if tx == 3:
                T.atomic_add(C[1], 1)
            T.atomic_add(C[2], tx)
            for _ in T.Parallel(64):
                T.atomic_add(C[3], 1)
            if tx < 32:
                for i in T.Parallel(10):
                    T.atomic_add(C[4], i)
            for _ in T.serial(tx):
                T.atomic_add(C[5], 1)

    arrays = [torch.arange(64, dtype=torch.int32), torch.zeros(6, dtype=torch.int32)]
    _, c = run_kernel(counted, arrays, device)
    assert c.tolist() == [43, 1, 2016, 64, 45, 2016]


def test_what_threads_read_before_they_meet_is_kept_in_variables(device):
    @tile2triton.kernel
    def stencil(A):
        A: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            x = T.alloc_var("int32")
            for _ in T.serial(3):
                x = A[(tx + 1) % 64]
                T.sync_threads()
                A[tx] = x + A[tx]
                T.sync_threads()

    a = torch.arange(64, dtype=torch.int32)
    (made,) = run_kernel(stencil, [a], device)
    for _ in range(3):
        a = a + a.roll(-1)
    assert torch.equal(made, a)

    @tile2triton.kernel
    def let(A):
        A: T.Tensor((64,), "int32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            x = A[(tx + 1) % 64]
            T.sync_threads()
            A[tx] = x

    with pytest.raises(TileError, match=r"T2T380.*`x` is another value in each thread"):
        let.compile()


@pytest.mark.parametrize(
    ("dtype", "index", "code"),
    [("float32", "0", "T2T381"), ("float32", "i", "T2T381"), ("int64", "i", "T2T382")],
)
def test_bounds_that_no_loop_counts_to_are_refused(dtype, index, code, device):
    program = f"""
    def k(A: T.Tensor((8,), "{dtype}"), C: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32) as bx:
            for i in T.Parallel(8):
                for j in T.serial(A[{index}]):
                    C[i] = C[i] + j
    """
    arrays = [torch.zeros(8, dtype=getattr(torch, dtype)), torch.zeros(8, dtype=torch.int32)]
    with pytest.raises(RewriteError) as caught:
        agree(program, arrays, device, outputs=())
    assert [problem.code for problem in caught.value.problems] == [code]
