"""Transpiles FlashAttention, prints the Triton and shows that what it computes is right."""

import sys
import time
from pathlib import Path

import numpy as np
import torch

# The kernels of the tests are no part of the installed package.
sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.kernels.flash_attention import flash_attention


def main() -> int:
    on_gpu = torch.cuda.is_available()
    # The interpreter runs one program after the other, so there the problem is small. The
    # sequence length is no multiple of the tile, so that the masks are seen at work.
    batch, heads, seq_len, dim = (2, 8, 1000, 128) if on_gpu else (1, 2, 200, 64)
    tiles = {} if on_gpu else {"block_M": 64, "block_N": 64}

    say("1/4 Transpiling tests/kernels/flash_attention.py")
    started = time.perf_counter()
    kernel = flash_attention(batch, heads, seq_len, dim, is_causal=True, **tiles)
    source = kernel.triton_source
    elapsed = (time.perf_counter() - started) * 1e3
    print(source)
    say(f"    {len(source.splitlines())} lines of Triton in {elapsed:.0f} ms, printed above")

    device = "cuda" if on_gpu else "cpu"
    where = torch.cuda.get_device_name() if on_gpu else "the CPU, interpreted"
    say(f"2/4 Running it on {where}: batch {batch}, heads {heads}, {seq_len} x {dim}, causal")
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, seq_len, heads, dim).half() for _ in range(3))
    output = kernel(q.to(device), k.to(device), v.to(device)).cpu().float()

    say("3/4 Running the tile program itself on NumPy: the reference meaning")
    small = slice(0, 1)
    meaning = kernel if not on_gpu else flash_attention(1, heads, seq_len, dim, is_causal=True)
    reference = meaning.reference(*(x[small].numpy() for x in (q, k, v)))
    reference = torch.from_numpy(np.asarray(reference, dtype=np.float32))

    say("4/4 Comparing")
    by_torch = torch.nn.functional.scaled_dot_product_attention(
        *(x.float().transpose(1, 2) for x in (q, k, v)), is_causal=True
    ).transpose(1, 2)
    right = report("the reference meaning", output[small], reference)
    right &= report("torch's attention in fp32", output, by_torch)
    say("The three agree." if right else "They DIFFER.")
    return 0 if right else 1


def say(line: str) -> None:
    print(f"== {line}", flush=True)


def report(name: str, found: torch.Tensor, right: torch.Tensor) -> bool:
    error = (found - right).abs().max().item()
    say(f"    largest difference from {name}: {error:.1e} (fp16 allows 1e-2)")
    return torch.allclose(found, right, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    sys.exit(main())
