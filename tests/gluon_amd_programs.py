"""Programs with a loop of products, for kernels of Gluon on AMD's chips."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
@T.warp_specialize(2)
def shifted_product(A, B, bias):
    """tanh(Aᵀ B + bias), from a loop that starts behind the first rows."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((K, M), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    bias: T.Tensor((N,), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=512) as (bx, by):
        a = T.alloc_shared((32, 128), "bfloat16")
        b = T.alloc_shared((32, 128), "bfloat16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.Pipelined(1, T.ceildiv(K, 32), num_stages=3):
            T.copy(A[k * 32, by * 128], a)
            T.copy(B[k * 32, bx * 128], b)
            T.gemm(a, b, c, transpose_A=True)
        for i, j in T.Parallel(128, 128):
            c[i, j] = T.tanh(c[i, j] * 0.1 + bias[bx * 128 + j])
        T.copy(c, C[by * 128, bx * 128])
    return C


@tile2triton.kernel
@T.warp_specialize(1)
def squared(A, B):
    """2 A (A B)."""
    A: T.Tensor((128, 128), "float16")
    B: T.Tensor((128, 128), "float16")
    C = T.empty((128, 128), "float32")
    with T.Kernel(1, threads=256):
        a = T.alloc_shared((128, 128), "float16")
        b = T.alloc_shared((128, 128), "float16")
        square = T.alloc_fragment((128, 128), "float32")
        half = T.alloc_fragment((128, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.copy(A, a)
        T.clear(c)
        for _ in T.serial(2):
            T.copy(B, b)
            T.gemm(a, b, square, clear_accum=True)
            T.copy(square, half)
            T.gemm(a, half, c)
        T.copy(c, C)
    return C


@tile2triton.kernel
@T.warp_specialize(1)
def ahead_by_hand(A, B, by_number=True):
    """A @ B, where each turn loads the tile of A that the next one multiplies."""
    A: T.Tensor((128, 256), "float16")
    B: T.Tensor((256, 128), "float16")
    C = T.empty((128, 128), "float32")
    with T.Kernel(1, threads=256):
        a = T.alloc_shared((128, 64), "float16")
        b = T.alloc_shared((64, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        place = T.alloc_var("int32", 0)
        T.clear(c)
        T.copy(A[0, 0], a)
        for k in T.serial(4):
            if by_number:
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
                T.copy(A[0, T.min(k + 1, 3) * 64], a)
            else:
                T.copy(A[0, k * 64], a)
                T.copy(B[place * 64, 0], b)
                T.gemm(a, b, c)
                place = place + 1
        T.copy(c, C)
    return C


@tile2triton.kernel
@T.warp_specialize(2)
def counted(A, B, before):
    """Sums of products, halved where a number that goes on behind a product says so."""
    A: T.Tensor((256, 256), "float16")
    B: T.Tensor((256, 128), "float16")
    C = T.empty((256, 128), "float32")
    with T.Kernel(2, threads=512) as bx:
        a = T.alloc_shared((128, 64), "float16")
        b = T.alloc_shared((64, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        number = T.alloc_var("int32", 0)
        T.clear(c)
        for k in T.serial(4):
            T.copy(A[bx * 128, k * 64], a)
            T.copy(B[k * 64, 0], b)
            if before:
                number = number + 3
            T.gemm(a, b, c)
            number = number + 1
            for i, j in T.Parallel(128, 128):
                c[i, j] = T.if_then_else(j * 2 + number < 20, c[i, j] * 0.5, c[i, j])
        T.copy(c, C[bx * 128, 0])
    return C
