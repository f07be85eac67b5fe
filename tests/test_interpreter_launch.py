"""Launches on the CPU: beside compiled kernels, in threads, with errors that say where."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from tests.triton_text import HEADER, pointwise, run
from tile2triton.interpreter import InterpreterError
from tile2triton.runtime import load

ROOT = Path(__file__).parents[1]

GEMM = """
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in tl.range(0, K, BK, num_stages=3):
        k = k0 + tl.arange(0, BK)
        a_mask = (m[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (n[None, :] < N)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (m[:, None] < M) & (n[None, :] < N)
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c, mask=c_mask)


def launch(a, b, block=64):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
    kernel[grid](a, b, c, M, N, K, BM=block, BN=block, BK=block, num_warps=4, num_stages=3)
    return c
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(128, 128, 128), (65, 33, 40), (1, 17, 100)])
def test_gemm_of_any_size(dtype, shape):
    m, n, k = shape
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    expected = (a.double() @ b.double()).to(dtype)
    rtol = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[dtype]
    torch.testing.assert_close(run(GEMM, a, b), expected, rtol=rtol, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gemm_of_256_takes_less_than_a_second(dtype):
    a, b = torch.randn(256, 256).to(dtype), torch.randn(256, 256).to(dtype)
    run(GEMM, a, b)
    # Time of this thread alone, so that a busy machine does not count.
    started = time.thread_time()
    run(GEMM, a, b)
    assert time.thread_time() - started < 1.0


def test_triton_itself_is_left_as_it_was():
    program = HEADER + "from triton.runtime.jit import JITFunction\n" + GEMM
    script = f"""
import torch, triton, triton.language as tl
import triton.language.semantic, triton.language.extra.cuda.libdevice
modules = (tl, tl.core, tl.math, tl.standard, tl.tensor, tl.tensor_descriptor, tl.dtype)
before = [dict(vars(module)) for module in modules]
from tile2triton.runtime import load
launch = load({program!r}, "launch")
launch(torch.ones(16, 16), torch.ones(16, 16))
for module, was in zip(modules, before):
    now = dict(vars(module))
    assert all(now[name] is was[name] for name in was), module
assert not triton.knobs.runtime.interpret
from triton.compiler import ASTSource
import sys
kernel = next(m for n, m in sys.modules.items()
              if n.startswith("tile2triton_emitted") and not n.endswith("_on_cpu")).kernel
names = kernel.arg_names
types = dict(zip(names, ["*fp16"] * 3 + ["i32"] * 3 + ["constexpr"] * 3))
source = ASTSource(kernel, types, dict.fromkeys(names[6:], 64))
target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
assert "wgmma" in triton.compile(source, target, options=dict(enable_fp_fusion=True)).asm["ptx"]
launch(torch.ones(16, 16), torch.ones(16, 16))
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_launches_in_several_threads():
    pairs = [(torch.randn(64, 64), torch.randn(64, 64)) for _ in range(8)]
    results: dict[int, torch.Tensor] = {}

    def work(index: int) -> None:
        results[index] = run(GEMM, *pairs[index], block=32)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, (a, b) in enumerate(pairs):
        torch.testing.assert_close(results[index], a @ b, rtol=1e-4, atol=1e-4)


def test_an_error_says_line_kernel_and_program():
    text = """
@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) == 2:
        tl.store(x_ptr + N + i, 0.0)


def launch(x):
    kernel[(3,)](x, 16)
"""
    with pytest.raises(
        InterpreterError, match=r"launch_\w+\.py:\d+: .*kernel kernel, program \(2, 0"
    ):
        run(text, torch.zeros(16))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("if x0 > 0:\n    x0 = x0 + 1", "a block cannot be the condition"),
        ("x0 = tl.inline_asm_elementwise('', '=r,r', [x0], tl.int32, True, 1)", "inline assembly"),
        ("tl.static_assert(N > 100000, 'too small')", "too small"),
        ("tl.assume(N > 100000)", "assume"),
        ("tl.device_assert(x0 > 1e9, 'too small')", "too small"),
        ("x0 = libdevice.j0(x0)", "libdevice's __nv_j0f has no meaning on the CPU"),
        ("x0 = x0.to(tl.float8e4b15)", "fp8e4b15"),
        ("ok = 0 < N < 5", "a chain of comparisons"),
    ],
)
def test_what_cannot_be_computed_is_refused(statement, message):
    with pytest.raises((InterpreterError, NotImplementedError), match=message):
        pointwise("x0", [torch.zeros(16)], torch.float32, setup=statement)


def test_an_unknown_launch_option_is_an_error():
    text = """
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)


def launch(x):
    kernel[(1,)](x, num_wraps=4)
"""
    with pytest.raises(TypeError, match="unknown launch option `num_wraps`"):
        run(text, torch.zeros(1))


def test_an_empty_grid_launches_nothing():
    text = """
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)


def launch(x):
    kernel[(0, 4)](x)
    return x
"""
    assert run(text, torch.zeros(1)).item() == 0


def test_scalar_arguments_have_the_types_of_a_gpu_launch():
    text = """
@triton.jit
def kernel(out_ptr, small, big, real, flag):
    tl.static_assert(small.dtype == tl.int32 and big.dtype == tl.int64)
    tl.static_assert(real.dtype == tl.float32 and flag.dtype == tl.int1)
    tl.store(out_ptr, small + big.to(tl.float32) + real + flag)


def launch(out):
    kernel[(1,)](out, 2, 2**40, 0.5, True)
    return out
"""
    assert run(text, torch.zeros(1)).item() == 2.0**40


def test_the_same_callable_may_be_loaded_again():
    text = HEADER + GEMM
    assert load(text, "launch") is load(text, "launch")


def test_a_setting_for_tritons_own_interpreter_changes_nothing():
    script = f"""
import torch
from tile2triton.runtime import load
launch = load({HEADER + GEMM!r}, "launch")
a, b = torch.randn(32, 32).bfloat16(), torch.randn(32, 32).bfloat16()
expected = (a.double() @ b.double()).bfloat16()
torch.testing.assert_close(launch(a, b), expected)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, env=environment)


def test_a_declared_type_of_a_scalar_is_kept():
    text = """
@triton.jit
def kernel(out_ptr, n: tl.int64):
    tl.static_assert(n.dtype == tl.int64)
    tl.store(out_ptr, n * 2**20)


def launch(out, n):
    kernel[(1,)](out, n)
    return out
"""
    assert run(text, torch.zeros(1, dtype=torch.int64), 2**20).item() == 2**40


@pytest.mark.parametrize(
    "block",
    [
        "if tl.program_id(0) == 0:\n    x0 = x0.to(tl.float16)",
        "if tl.program_id(0) != 0:\n    pass\nelse:\n    x0 = tl.sum(x0)",
        "for k in range(2):\n    x0 = x0.to(tl.float16)",
        "n = N\nwhile n > 3:\n    n = n - 1\n    x0 = x0.to(tl.float16)",
    ],
)
def test_branches_and_loops_leave_the_types_of_variables(block: str) -> None:
    with pytest.raises(InterpreterError, match=r"`x0` is .* before a branch or loop, and"):
        pointwise("0.0", [torch.zeros(16)], torch.float32, setup=block)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x0 = -x0.to(tl.float8e5)", "no f(sub|neg) of fp8"),
        ("x0 = tl.full((4,), 2.0, tl.int32)", "the number 2.0 is no int32"),
    ],
)
def test_numbers_that_the_compiler_has_not_are_refused(statement: str, message: str) -> None:
    with pytest.raises(InterpreterError, match=message):
        pointwise("0.0", [torch.zeros(16)], torch.float32, setup=statement)


QUOTIENT = """
@triton.jit(do_not_specialize=KEPT)
def kernel(c_ptr, n: TYPE):
    tl.store(c_ptr, (n - 6) // 4)


def launch(c, n):
    kernel[(1,)](c, n)
    return c.item()
"""


@pytest.mark.parametrize("kept", ["[]", "['n']"])
@pytest.mark.parametrize("type", ["int", "tl.int32", "tl.int64"])
@pytest.mark.parametrize("n", [1, 3])
def test_integer_of_one_is_a_number_unless_it_is_typed(kept, type, n):
    is_number = n == 1 and kept == "[]" and type == "int"
    c = torch.zeros(1, dtype=torch.int32)
    made = run(QUOTIENT.replace("KEPT", kept).replace("TYPE", type), c, n)
    assert made == ((n - 6) // 4 if is_number else int((n - 6) / 4))
