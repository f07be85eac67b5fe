"""The text of emitted modules: what a person reads and signs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewrites.facts import Descriptor, Launch
from rewrites.quote import expr
from tests.emission import emitted, facts_of, gemm, tensor


def launcher_of(text: str) -> str:
    """The text from the named constants to the end of the launcher."""
    return text[text.index("# The constants") : text.index("\n\n\ndef refuse(")] + "\n"


def test_launcher_with_sizes_from_the_shapes():
    assert (
        launcher_of(emitted(gemm()))
        == '''\
# The constants of the kernels; tile sizes may be tuned here.
block_M = 128
block_N = 128
block_K = 32

several_gpus = torch.cuda.device_count() > 1


def gemm(A, B):
    """A: (M, K) float16, B: (K, N) float16 -> C: (M, N) float16."""
    try:
        M, K = A.shape
        N = B.shape[1]
        fits = (
            B.shape == (K, N)
            and A.dtype == B.dtype == torch.float16
            and A.is_contiguous()
            and B.is_contiguous()
            and M < 2**31
            and K < 2**31
            and N < 2**31
            and (not several_gpus or A.get_device() == B.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(A, B)
    if several_gpus and A.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(A.device):
            return gemm(A, B)
    C = A.new_empty((M, N))
    grid = ((N + block_N - 1) // block_N, (M + block_M - 1) // block_M)
    if grid[1] > 65535:
        raise ValueError(f"grid extent {grid[1]} in y, at most 65535")
    if 0 in grid:
        return C
    gemm_kernel[grid](
        A,
        B,
        C,
        M,
        K,
        N,
        block_M=block_M,
        block_N=block_N,
        block_K=block_K,
        num_warps=4,
        num_stages=3,
    )
    return C
'''
    )


def test_launcher_with_fixed_sizes_is_shorter():
    text = launcher_of(emitted(gemm(M=1024, N=512, K=256)))
    assert "K = 256\ngrid = (triton.cdiv(N, block_N), triton.cdiv(M, block_M))\n" in text
    assert "A.shape == (M, K)" in text
    assert "0 in grid" not in text
    assert "65535" not in text


def test_header_says_where_from_and_for_which_settings():
    facts = gemm()
    facts.settings = {"trans_A": "False", "dtype": "'float16'"}
    text = emitted(facts)
    assert text.startswith('''\
"""gemm: emitted from gemm.py by tile2triton.

Specialised for trans_A=False, dtype='float16'.
"""

import torch
import triton
import triton.language as tl


@triton.jit
''')
    assert "somebody" not in text


def test_only_used_modules_are_imported():
    facts = facts_of("scale", [tensor("X", "n"), tensor("Y", "n", role="output")], "1")
    text = emitted(facts, "tl.store(Y, libdevice.erf(tl.load(X)))")
    assert "from triton.language.extra import libdevice\n" in text
    assert "TensorDescriptor" not in text


def test_several_launches_run_in_order_with_their_own_grids():
    facts = facts_of(
        "split",
        [
            tensor("A", "M, K"),
            tensor("partial", "parts, M", "float32", "workspace"),
            tensor("C", "M", "float32", "output"),
        ],
        "triton.cdiv(M, block_M); parts",
        constants={"parts": 4, "block_M": 64},
        dims={"M": ("A", 0), "K": ("A", 1)},
    )
    first = facts.launches[0]
    first.kernel, first.arguments = "split_kernel_1", ("A", "partial", "M", "K")
    second = Launch("split_kernel_2", (expr("M"),), ("partial", "C", "M"), ("parts",))
    facts.launches.append(second)
    text = launcher_of(emitted(facts))
    assert text.endswith("""\
    partial = A.new_empty((parts, M), dtype=torch.float32)
    C = A.new_empty((M,), dtype=torch.float32)
    split_kernel_1_grid = ((M + block_M - 1) // block_M, parts)
    if 0 not in split_kernel_1_grid:
        split_kernel_1[split_kernel_1_grid](
            A, partial, M, K, parts=parts, block_M=block_M, num_warps=4, num_stages=3
        )
    split_kernel_2_grid = (M,)
    if 0 not in split_kernel_2_grid:
        split_kernel_2[split_kernel_2_grid](
            partial, C, M, parts=parts, num_warps=4, num_stages=1
        )
    return C
""")


def test_several_outputs_are_returned_in_order():
    tensors = [
        tensor("X", "n"),
        tensor("low", "n", "float32", "output"),
        tensor("high", "n", role="output"),
    ]
    facts = facts_of("bounds", tensors, "n", dims={"n": ("X", 0)})
    facts.outputs = ("high", "low")
    text = emitted(facts)
    assert "    high = torch.empty_like(X)\n" in text
    assert "    return [high, low]\n" in text


def test_descriptors_describe_the_tensor_by_its_sizes():
    made = Descriptor("A_desc", "A", (1, 0, 2), (expr("1"), expr("block_M"), expr("block_K")))
    facts = facts_of(
        "load",
        [tensor("A", "B, M, K")],
        "B",
        dims={"B": ("A", 0), "M": ("A", 1), "K": ("A", 2)},
        constants={"block_M": 64, "block_K": 32},
        descriptors=[made],
    )
    text = emitted(facts)
    assert "from triton.tools.tensor_descriptor import TensorDescriptor\n" in text
    assert (
        """\
    # TMA reads from multiples of 16 bytes only.
    if A.data_ptr() % 16:
        A = A.clone()
    A_desc = TensorDescriptor(A, [M, B, K], [K, M * K, 1], [1, block_M, block_K])
    load_kernel[grid](
"""
        in text
    )
    assert 'raise ValueError("A must start' in emitted(facts, "A_desc.store([0], 1)")


def test_names_of_the_launcher_make_way_for_those_of_the_user():
    tensors = [tensor("grid", "fits"), tensor("C", "fits", role="output")]
    text = emitted(facts_of("refuse", tensors, "fits", dims={"fits": ("grid", 0)}))
    assert "(fits,) = grid.shape" in text
    assert "grid_ = (fits,)" in text
    assert "def refuse_(grid):" in text


def test_long_signature_is_described_line_by_line():
    names = ["query", "key", "value"]
    tensors = [tensor(name, "batch, heads, length, dim") for name in names]
    tensors.insert(2, tensor("mask", "batch, heads, length, length", "bool"))
    sizes = {"batch": 1, "heads": 2, "length": 3, "dim": 4}
    text = emitted(facts_of("f", tensors, "1", constants=sizes))
    assert (
        '''\
def f(query, key, mask, value):
    """Arguments:
        query, key: (batch, heads, length, dim) float16
        mask: (batch, heads, length, length) bool
        value: (batch, heads, length, dim) float16
    """
'''
        in text
    )
    assert "query.shape == key.shape == value.shape == (batch, heads, length, dim)" in text


def test_same_facts_give_the_same_bytes_in_every_process():
    program = "from tests.emission import *; print(emitted(gemm()), end='')"
    texts = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program]
        root = Path(__file__).parent.parent
        run = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
        texts.add(run.stdout)
    assert len(texts) == 1


@pytest.mark.parametrize("facts", [gemm(), gemm(M=64, N=64, K=64)])
def test_emitted_module_is_formatted_and_free_of_mistakes(facts):
    ruff = shutil.which("ruff", path=Path(sys.executable).parent) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    text = emitted(facts)
    for task in (["format", "--diff"], ["check", "--select", "E,F,I,W"]):
        command = [ruff, *task, "--isolated", "--line-length", "88", "-"]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
