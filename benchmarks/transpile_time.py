"""How long it takes from the function to the text of the Triton module; needs no GPU.

python -m benchmarks.transpile_time
"""

import argparse
import statistics
import sys
import time

from tests.kernels.flash_attention import flash_attention


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.transpile_time", description="Time the way to Triton's text."
    )
    parser.add_argument("--repeat", type=int, default=25)
    repeat = parser.parse_args().repeat
    first, lines = transpile(seq_len=4096)
    # Each repetition has a length of its own, so that nothing kept from an earlier one can help.
    times = [transpile(seq_len=8192 + 128 * index)[0] for index in range(repeat)]
    print(f"FlashAttention, causal: {lines} lines of Triton")
    print(f"first {first:.1f} ms, then median {statistics.median(times):.1f} ms of {repeat}")
    return 0


def transpile(seq_len: int) -> tuple[float, int]:
    """Milliseconds from the call of the factory to the text, and the lines of the text."""
    began = time.perf_counter()
    text = flash_attention(4, 16, seq_len, 128, is_causal=True).triton_source
    return (time.perf_counter() - began) * 1e3, len(text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
