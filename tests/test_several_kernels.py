"""Functions of several T.Kernel: in order, with tensors between them, in macros, with any grid."""

from typing import Any

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.diagnostics import TileError


def both(function: Any, *arguments: Any) -> list[torch.Tensor]:
    """The tensors after the function ran on them, which its reference meaning agrees on."""
    kernel = tile2triton.compile(function)
    there = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    kernel(*there)
    host = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    kernel.reference(*host)
    tensors = [a for a in there if isinstance(a, torch.Tensor)]
    for got, wanted in zip(tensors, [a for a in host if isinstance(a, torch.Tensor)], strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    return tensors


ALLOCATIONS = {
    "alloc_global": lambda n: T.alloc_global((n,), "float32"),
    "alloc_buffer": lambda n: T.alloc_buffer([n], T.float32),
    "allocate": lambda n: T.allocate((n,), "float32", scope="global"),
    "decl_buffer": lambda n: T.decl_buffer((n,), "float32"),
}


@pytest.mark.parametrize("size", [1, 32, 77])
@pytest.mark.parametrize("name", ALLOCATIONS)
def test_kernels_hand_a_workspace_on(name: str, size: int) -> None:
    n = T.dynamic("n")

    @T.prim_func
    def chained(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        between = ALLOCATIONS[name](n)
        with T.Kernel(T.ceildiv(n, 32), threads=128) as bx:
            for i in T.Parallel(32):
                between[bx * 32 + i] = A[bx * 32 + i] + 1.0
        # It reads what the programs of the first kernel wrote, in another order.
        with T.Kernel(T.ceildiv(n, 16), threads=64) as by:
            for i in T.Parallel(16):
                B[by * 16 + i] = between[n - 1 - (by * 16 + i)] * 2.0

    a = torch.arange(float(size))
    _, b = both(chained, a, torch.zeros(size))
    torch.testing.assert_close(b, (a + 1).flip(0) * 2)


@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "local.fragment"])
def test_allocation_on_the_chip_is_a_tile(scope: str) -> None:
    @T.prim_func
    def copied(A: T.Tensor((20,), "float16"), B: T.Tensor((20,), "float16")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_buffer((20,), "float16", scope=scope)
            T.copy(A, tile)
            T.copy(tile, B)

    a = torch.randn(20).half()
    assert torch.equal(both(copied, a, torch.zeros_like(a))[1], a)


@pytest.mark.parametrize(
    ("allocate", "code"),
    [
        (lambda: T.alloc_buffer((1,), "int32", scope="local.var"), "T2T360"),
        (lambda: T.decl_buffer((1,), "int32", data=1), "T2T361"),
        (lambda: T.decl_buffer((1,), "int32", strides=(2,)), "T2T361"),
        (lambda: T.allocate((1,), "int32", "global", True), "T2T361"),
    ],
)
def test_other_memory_is_refused(allocate: Any, code: str) -> None:
    @T.prim_func
    def refused(A: T.Tensor((1,), "int32")):
        tile = allocate()
        with T.Kernel(1, threads=128):
            A[0] = tile[0]

    with pytest.raises(TileError) as caught:
        tile2triton.compile(refused)
    assert caught.value.diagnostics[0].code == code


def test_kernel_in_a_macro() -> None:
    @T.macro
    def add(A, B, amount):
        with T.Kernel(T.ceildiv(40, 16), threads=128) as bx:
            for i in T.Parallel(16):
                B[bx * 16 + i] = A[bx * 16 + i] + amount

    @T.prim_func
    def twice(A: T.Tensor((40,), "int32"), B: T.Tensor((40,), "int32")):
        between = T.alloc_global((40,), "int32")
        add(A, between, 1)
        add(between, B, 10)

    a = torch.arange(40, dtype=torch.int32)
    assert torch.equal(both(twice, a, torch.zeros_like(a))[1], a + 11)


def test_one_of_two_functions_is_returned() -> None:
    @tile2triton.kernel
    def made(doubles: bool):
        @T.prim_func
        def once(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(8):
                    A[i] = A[i] + 1

        @T.prim_func
        def twice(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(8):
                    A[i] = A[i] + 1
            with T.Kernel(8, threads=128) as bx:
                A[bx] = A[bx] * 2

        return twice if doubles else once

    for doubles in (False, True):
        a = torch.arange(8, dtype=torch.int32)
        made(doubles)(a)
        assert a.tolist() == [(i + 1) * (1 + doubles) for i in range(8)]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_grid_of_a_scalar_parameter(count: int) -> None:
    @T.prim_func
    def counted(A: T.Tensor((4,), "int32"), n: T.int32, m: T.int32):
        with T.Kernel(n, m + 1, threads=128) as (bx, by):
            if T.get_thread_binding() == 0:
                T.atomic_add(A[bx], by + 1)
        with T.Kernel(n * m, threads=128) as bz:
            if T.get_thread_binding() == 0:
                T.atomic_add(A[3], bz + 1)

    (a,) = both(counted, torch.zeros(4, dtype=torch.int32), count, 2)
    first = [6 if i < count else 0 for i in range(3)]
    assert a.tolist() == [*first, sum(range(1, 2 * count + 1))]


@pytest.mark.parametrize("size", [0, 5])
def test_grid_of_an_empty_tensor_launches_nothing(size: int) -> None:
    n = T.dynamic("n")

    @T.prim_func
    def doubled(A: T.Tensor((n,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(T.ceildiv(n, 4), threads=128):
            if T.get_thread_binding() == 0:
                T.atomic_add(B[0], 1)
        with T.Kernel(1, threads=128):
            B[1] = n

    _, b = both(doubled, torch.ones(size, dtype=torch.int32), torch.zeros(2, dtype=torch.int32))
    assert b.tolist() == [-(-size // 4), size]


def test_kernel_without_extents_is_one_program() -> None:
    @T.prim_func
    def single(A: T.Tensor((3,), "float32")):
        with T.Kernel():
            for i in T.Parallel(3):
                A[i] = A[i] * 3.0
        with T.Kernel(threads=64):
            A[0] = A[0] + 1.0

    assert both(single, torch.arange(3.0))[0].tolist() == [1.0, 3.0, 6.0]


@pytest.mark.parametrize("inside", [False, True])
def test_fill_and_clear_set_a_variable(inside: bool) -> None:
    @T.prim_func
    def filled(B: T.Tensor((2,), "float32")):
        with T.Kernel(1, threads=128):
            x, y = T.alloc_var("float32", 7.0), T.alloc_var("int32", 7)
            if inside:
                for _ in T.serial(2):
                    T.clear(x)
                    T.fill(y, -3)
            else:
                T.clear(x)
                T.fill(y, -3)
            B[0] = x
            B[1] = y

    assert both(filled, torch.ones(2))[0].tolist() == [0, -3]


def test_eager_kernel_with_two_launches() -> None:
    @tile2triton.kernel
    def normalised(X):
        n = T.const("n")
        X: T.Tensor((n,), "float32")
        total = T.alloc_buffer((1,), "float32")
        Y = T.empty((n,), "float32")
        with T.Kernel(1, threads=128):
            x = T.alloc_var("float32")
            for i in T.serial(n):
                x += X[i]
            total[0] = x
        with T.Kernel(n, threads=128) as bx:
            Y[bx] = X[bx] / total[0]
        return Y

    x = torch.tensor([1.0, 3.0, 4.0])
    assert normalised(x).tolist() == [0.125, 0.375, 0.5]
    np.testing.assert_array_equal(normalised.reference(x.numpy()), [0.125, 0.375, 0.5])
