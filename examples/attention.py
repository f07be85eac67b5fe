"""Attention on whole operands, and the same with a schedule of one's own.

Run it with `python examples/attention.py`. `docs/walkthrough.md` shows what becomes of it.
"""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def attention(Q: T.Tensor["B H M D"], K: T.Tensor["B G N D"], V: T.Tensor["B G N D"]):
    S = T.gemm(Q, K)
    # A row sees itself and what is before it.
    P = T.softmax(S, scale=Q.shape[-1] ** -0.5, mask=T.causal)
    O = T.gemm(P, V)
    return O


if __name__ == "__main__":
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    Q, K, V = (torch.randn(2, 4, 200, 64, device=device) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)
    own = attention.scheduled(tile2triton.Schedule(tile={"M": 64, "N": 32}, warps=4))
    for name, kernel in (("as it is", attention), ("scheduled", own)):
        error = (kernel(Q, K, V) - expected).abs().max().item()
        print(f"{name}: largest difference from torch on {device}: {error:.1e}")
