"""Names that leave a value or a program as it is."""

import torch

import tile2triton
import tile2triton.language as T


def test_read_only_loads_likely_conditions_and_overlapped_launches_change_nothing(device):
    @tile2triton.kernel
    def doubled(N):
        @T.prim_func
        def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
                T.pdl_sync()
                for i in T.Parallel(32):
                    if T.likely(bx * 32 + i < N):
                        B[bx * 32 + i] = T.__ldg(A[bx * 32 + i]) + T.__ldg(A, bx * 32 + i)
                T.pdl_trigger()

        return main

    a = torch.randn(50, device=device)
    b = torch.zeros(50, device=device)
    doubled(50)(a, b)
    torch.testing.assert_close(b, a * 2)
