"""A first tile kernel: row-wise softmax, one program for a few rows.

Run it with `python examples/first_kernel.py`; `tile2triton emit examples/first_kernel.py` prints
the Triton that it becomes.
"""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def softmax(X, block_rows=4):
    rows, columns = T.dynamic("rows"), T.const("columns")
    X: T.Tensor((rows, columns), "float32")
    Y = T.empty((rows, columns), "float32")

    with T.Kernel(T.ceildiv(rows, block_rows), threads=128) as bx:
        x = T.alloc_fragment((block_rows, columns), "float32")
        largest = T.alloc_fragment((block_rows,), "float32")
        total = T.alloc_fragment((block_rows,), "float32")

        T.copy(X[bx * block_rows, 0], x)
        # Without the shift by the row's maximum, exp would overflow.
        T.reduce_max(x, largest, dim=1)
        for i, j in T.Parallel(block_rows, columns):
            x[i, j] = T.exp(x[i, j] - largest[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(block_rows, columns):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[bx * block_rows, 0])
    return Y


if __name__ == "__main__":
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    X = torch.randn(1000, 300, device=device)
    error = (softmax(X) - torch.softmax(X, dim=1)).abs().max().item()
    print(f"largest difference from torch on {device}: {error:.1e}")
