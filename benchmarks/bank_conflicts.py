"""Compare simulated bank conflicts with those that Nsight Compute counts, on one CUDA GPU.

    python -m benchmarks.bank_conflicts [--json out.json]

A product of float32 whose second operand is turned round in registers runs with several layouts of
these registers, under `ncu`. One that sums over twice as much has the loop's loads and stores
twice as often; the difference of the two counts is that of the loop alone, which is what
`tile2triton.layouts` predicts from the TTGIR.
"""

import argparse
import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from tests.kernels.gemm import gemm
from tests.patched import Wanted, asked, assembly, emitted
from tile2triton import CompiledKernel, transpile
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.generic_linear import GenericLinear
from tile2triton.layouts.linear import Bases
from tile2triton.layouts.predicted import predicted
from tile2triton.runtime import load

TARGET = "cuda:90"
SIZE, BLOCK, DEPTH = 512, 128, 32
TILE = (DEPTH, BLOCK)
WARPS = 8
LOADS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
STORES = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
# What a thread and a warp have of the tile, rows by columns.
BOXES = {
    "1x1 in 4x8": ((1, 1), (4, 8), (8, 1)),
    "4x1 in 1x32": ((4, 1), (1, 32), (8, 1)),
    "4x4 in 1x32": ((4, 4), (1, 32), (8, 1)),
    "4x4 in 8x4": ((4, 4), (8, 4), (1, 8)),
    "1x2 in 8x4": ((1, 2), (8, 4), (4, 2)),
    "2x4 in 4x8": ((2, 4), (4, 8), (4, 2)),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--ncu", default="ncu", help="the command of Nsight Compute")
    parser.add_argument("--run", nargs=2, metavar=("LAYOUT", "K"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run[0], int(options.run[1]))
        return
    rows = []
    heads = f"{'simulated: loads':>17} {'stores':>8} {'counted: loads':>15} {'stores':>8}"
    print(f"{'registers':14} {heads}")
    for layout in ("Triton's own", "searched", *BOXES):
        said, found = simulated(layout), counted(layout, options.ncu)
        rows.append({"layout": layout, "simulated": said, "counted": found})
        figures = f"{said[LOADS]:17} {said[STORES]:8} {found[LOADS]:15} {found[STORES]:8}"
        print(f"{layout:14} {figures}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def product(depth: int) -> CompiledKernel:
    types = dict.fromkeys(("dtype", "out_dtype", "accum_dtype"), "float32")
    blocks = {"block_N": BLOCK, "block_K": DEPTH, "num_stages": 2}
    return transpile(gemm, target=TARGET, M=SIZE, N=SIZE, K=depth, **types, **blocks)


def patches(layout: str) -> tuple[Wanted, ...]:
    if layout == "Triton's own":
        return ()
    if layout == "searched":
        return (("turned_operand", "B_shared", {}),)
    return (("turned_operand", "B_shared", arguments(GenericLinear(*bits_of(layout)))),)


def bits_of(layout: str) -> list[Bases]:
    own, lanes, warps = BOXES[layout]
    linear = Blocked(own, lanes, warps, (1, 0)).linear(TILE)
    return [linear.bases(name) for name in ("register", "lane", "warp")]


def arguments(layout: GenericLinear) -> dict[str, Any]:
    given = {"registers": layout.registers, "lanes": layout.lanes, "warps": layout.warps}
    return {name: tuple(one for basis in bases for one in basis) for name, bases in given.items()}


def simulated(layout: str) -> Counter[str]:
    """Conflicts of the loop for all programs, in a sum that is SIZE deeper."""
    text = assembly(product(2 * SIZE), *patches(layout))["ttgir"]
    times = (SIZE // BLOCK) ** 2 * (SIZE // DEPTH)
    found: Counter[str] = Counter({LOADS: 0, STORES: 0})
    for row in predicted(text, TARGET):
        if row.depth and row.counter:
            found[f"{row.counter}.sum"] += row.conflicts * times
    return found


def counted(layout: str, ncu: str) -> dict[str, int]:
    shallow, deep = (profiled(layout, depth, ncu) for depth in (SIZE, 2 * SIZE))
    return {metric: deep[metric] - shallow[metric] for metric in (LOADS, STORES)}


def profiled(layout: str, depth: int, ncu: str) -> dict[str, int]:
    """What Nsight Compute counts in one launch."""
    # Compiling under the profiler would be slow.
    own = [sys.executable, "-m", "benchmarks.bank_conflicts", "--run", layout, str(depth)]
    subprocess.run(own, check=True, timeout=200)
    wanted = ["--metrics", f"{LOADS},{STORES}", "--kernel-name", "regex:gemm_kernel"]
    command = [ncu, "--clock-control", "none", "--csv", *wanted, *own]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=dict(os.environ)
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if len(lines) < 2:
        raise RuntimeError(f"ncu counted nothing:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    rows = csv.DictReader(io.StringIO("\n".join(lines)))
    return {row["Metric Name"]: int(row["Metric Value"].replace(",", "")) for row in rows}


def run(layout: str, depth: int) -> None:
    kernel = product(depth)
    text, facts = emitted(kernel, asked(kernel, *patches(layout)))
    a, b = torch.randn(SIZE, depth, device="cuda"), torch.randn(depth, SIZE, device="cuda")
    result = load(text, facts.name)(a, b)
    torch.cuda.synchronize()
    expected = a.double() @ b.double()
    error = float((result - expected).norm() / expected.norm())
    assert error < 5e-3, f"{layout}: error {error}"


if __name__ == "__main__":
    main()
