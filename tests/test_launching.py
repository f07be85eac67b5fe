"""Repeated launches: what reaches the GPU is what Triton's own launch of the same call gives it."""

import random
import threading
import weakref
from types import ModuleType
from typing import Any

import pytest
import torch
import triton
from triton.compiler.compiler import LazyDict

from tests.fake_gpu import fake_gpu
from tile2triton.launching import direct_launcher
from tile2triton.runtime import import_module
from tile2triton.ttgir import patch

# Triton 3.9 says so of every kernel that it compiles.
pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")

HEADER = """
import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def half(x):
    return x * 0.5

"""
# The check of the arguments lets anything pass, so that every value reaches the launch.
PLAIN = (
    HEADER
    + """
@triton.jit
def kernel(a, b, n, m, x, BLOCK: tl.constexpr, NAME: tl.constexpr):
    tl.store(a, half(tl.load(b)) + x)

BLOCK = 64

def launch(grid, a, b, n, m, x):
    \"\"\"A launch.\"\"\"
    try:
        fits = a.dtype != 0
    except AttributeError:
        fits = False
    if not fits:
        refuse(grid, a, b, n, m, x)
    kernel[grid](a, b, n, m, x, BLOCK=BLOCK, NAME="a", num_warps=4, num_stages=1)

def refuse(*arguments):
    raise ValueError("no tensor")
"""
)
DESCRIBED = (
    HEADER
    + """
@triton.jit
def kernel(a, b, n, BLOCK: tl.constexpr):
    tl.store(b, a.load([0, 0]))

def launch(a, b, n, rows, block=64, columns=64, stride=64):
    \"\"\"A launch.\"\"\"
    try:
        fits = a.dtype != 0
    except AttributeError:
        fits = False
    if not fits:
        refuse()
    described = TensorDescriptor(a, [rows, columns], [stride, 1], [block, 16])
    kernel[(n,)](described, b, n, BLOCK=64, num_warps=4, num_stages=1)
"""
)


# The same of constants, of which nothing is looked up but the address.
FIXED = DESCRIBED.replace(
    "def launch(a, b, n, rows, block=64, columns=64, stride=64)",
    """
rows, block, columns, stride = 64, 16, 64, 64

def launch(a, b, n)""",
)


@pytest.fixture
def gpu(monkeypatch):
    with fake_gpu(monkeypatch) as gpu:
        yield gpu


def made(text: str, path: Any) -> tuple[ModuleType, Any]:
    """The module, whose own launcher launches as Triton does, and the direct launcher."""
    module = import_module(text, path / "emitted.py")

    def explain(error: Exception, *arguments: Any) -> None: ...

    direct = direct_launcher(module, text, "launch", module.launch, explain)
    assert direct is not None
    return module, direct


def is_direct(launch: tuple[Any, ...]) -> bool:
    """Triton passes tensors on; a direct launch passes their addresses."""
    return not any(isinstance(one, torch.Tensor) for one in _flat(launch))


def plain(launch: tuple[Any, ...]) -> list[Any]:
    """What a launch means: addresses for tensors, and nothing for hooks that are not there.

    To them Triton would tell of the launch.
    """
    ignored = (type(None), triton.knobs.HookChain, LazyDict)
    parts = [one for one in _flat(launch) if not isinstance(one, ignored)]
    return [one.data_ptr() if isinstance(one, torch.Tensor) else one for one in parts]


def _flat(launch: Any) -> list[Any]:
    if isinstance(launch, (tuple, list)):
        return [part for one in launch for part in _flat(one)]
    return [launch]


def agree(gpu: Any, module: ModuleType, direct: Any, *given: Any, **named: Any) -> bool:
    """Launch directly, and as Triton does, and compare; whether the first one was direct."""
    gpu.launches.clear()
    direct(*given, **named)
    module.launch(*given, **named)
    ours, theirs = gpu.launches
    assert list(map(repr, plain(ours))) == list(map(repr, plain(theirs)))
    return is_direct(ours)


MEMORY = torch.zeros(64)
TENSORS = [
    MEMORY.view(torch.uint8)[at:-at].view(kind)
    for at in (64, 4, 8, 16, 24, 32)
    for kind in (torch.float32, torch.int32, torch.float16)
]
NUMBERS = [0, 1, 2, 8, 15, 16, 17, 24, 48, -1, -8, -16, 2**31 - 1, 2**31 - 16, 2**31, 2**31 + 1]
NUMBERS += [-(2**31), -(2**31) - 16, -(2**31) - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 16]
OTHERS = [True, False, None, 1.0, 0.0, -0.0, 0.5, float("nan")]


@pytest.mark.parametrize("at", range(1, 5))
def test_each_argument_is_told_apart_as_triton_does(gpu, tmp_path, at):
    module, direct = made(PLAIN, tmp_path)
    usual: list[Any] = [TENSORS[0], TENSORS[0], 16, 16, 0.5]
    values = [*TENSORS, *NUMBERS, *OTHERS] * 3
    random.Random(at).shuffle(values)
    direct((1,), *usual)
    for value in values:
        agree(gpu, module, direct, (1,), *usual[:at], value, *usual[at + 1 :])
    assert agree(gpu, module, direct, (1,), *usual)


def test_random_launches_are_those_of_triton(gpu, tmp_path):
    module, direct = made(PLAIN, tmp_path)
    pick = random.Random(7).choice
    direct((1,), TENSORS[0], TENSORS[0], 16, 16, 0.5)
    were_direct = 0
    for _ in range(1500):
        given = [pick(TENSORS[::3]), pick(TENSORS[:3]), pick(NUMBERS[:6]), pick(NUMBERS[4:9])]
        grid = pick([(1,), (2, 3), (4, 5, 6)])
        were_direct += agree(gpu, module, direct, grid, *given, pick([0.5, True]))
    assert were_direct > 1000


def test_a_compared_type_is_not_looked_up_again(gpu, tmp_path):
    text = PLAIN.replace("a.dtype != 0", "a.dtype == b.dtype == torch.float32 and n > 0")
    module, direct = made(text, tmp_path)
    for tensor in TENSORS[::3] * 3:
        agree(gpu, module, direct, (1,), tensor, TENSORS[0], 16, 16, 0.5)
    assert is_direct(gpu.launches[0])
    for wrong in (TENSORS[1], 5, None):
        with pytest.raises(ValueError, match="no tensor"):
            direct((1,), TENSORS[0], wrong, 16, 16, 0.5)


def test_a_type_that_may_have_changed_since_is_looked_up(gpu, tmp_path):
    text = PLAIN.replace("a.dtype != 0", "a.dtype == b.dtype == torch.float32").replace(
        "    kernel[", "    if n > 16:\n        b = b.view(torch.int32)\n    kernel["
    )
    module, direct = made(text, tmp_path)
    for n in (16, 16, 32, 16, 32):
        agree(gpu, module, direct, (1,), TENSORS[0], TENSORS[0], n, 16, 0.5)
    assert len(gpu.compiled) == 2


@pytest.mark.parametrize("shape", ["(N, 3, 5)", "(N, 0, 4)", "(N * 2,)", "()"])
def test_what_is_allocated_is_as_the_module_makes_it(gpu, tmp_path, shape):
    more = f"    return a.new_empty({shape}, dtype=torch.float16)\n\ndef r"
    text = PLAIN.replace("\ndef r", more).replace("BLOCK = 64", "BLOCK = 64\nN = 7")
    module, direct = made(text, tmp_path)
    a = torch.zeros(16)
    for _ in range(2):
        found, expected = (one((1,), a, a, 16, 16, 0.5) for one in (direct, module.launch))
        assert (found.shape, found.stride()) == (expected.shape, expected.stride())
        assert (found.dtype, found.device) == (expected.dtype, expected.device)


def test_two_launches_of_a_kernel_have_constants_of_their_own(gpu, tmp_path):
    again = (
        '    kernel[grid](a, b, n, m, x, BLOCK=32, NAME="b", num_warps=8, num_stages=1)\n\ndef r'
    )
    module, direct = made(PLAIN.replace("\ndef r", again), tmp_path)
    a = torch.zeros(16)
    for expected in (False, True):
        gpu.launches.clear()
        direct((1,), a, a, 16, 16, 0.5)
        module.launch((1,), a, a, 16, 16, 0.5)
        assert list(map(plain, gpu.launches[:2])) == list(map(plain, gpu.launches[2:]))
        assert is_direct(gpu.launches[1]) is expected


def test_descriptors_are_made_anew_where_memory_has_another_meaning(gpu, tmp_path):
    module, direct = made(DESCRIBED, tmp_path)
    memory = torch.zeros(4096, dtype=torch.float16)
    pick = random.Random(3).choice
    direct(memory, memory, 16, 64)
    were_direct = 0
    for _ in range(500):
        tensor = pick([memory, memory[64:], memory.view(torch.bfloat16), memory.view(torch.int16)])
        sizes = {"block": pick([16, 64]), "columns": pick([64, 128]), "stride": pick([64, 128])}
        were_direct += agree(
            gpu, module, direct, tensor, pick([memory, memory[1:]]), 16, pick([1, 64]), **sizes
        )
    assert were_direct > 300


def test_a_descriptor_of_constants_is_that_of_triton(gpu, tmp_path):
    module, direct = made(FIXED, tmp_path)
    memory = torch.zeros(4096, dtype=torch.float16)
    pick = random.Random(5).choice
    direct(memory, memory, 16)
    were_direct = 0
    for _ in range(300):
        tensor = pick([memory, memory[64:], memory.view(torch.bfloat16), memory.view(torch.int16)])
        other = pick([memory, memory[1:]])
        were_direct += agree(gpu, module, direct, tensor, other, pick([1, 16, 17]))
    assert were_direct > 200
    for launch in (direct, module.launch):
        with pytest.raises(AssertionError, match="16-byte aligned"):
            launch(memory[1:], memory, 16)


@pytest.mark.parametrize(("text", "sizes"), [(DESCRIBED, (64,)), (FIXED, ())])
def test_a_descriptor_is_encoded_once(gpu, tmp_path, text, sizes):
    _, direct = made(text, tmp_path)
    memory = torch.zeros(4096, dtype=torch.float16)
    for _ in range(10):
        direct(memory, memory, 16, *sizes)
    # Once by Triton and once to be kept.
    assert len(gpu.encoded) == 2
    assert gpu.encoded[0] == gpu.encoded[1]


def test_a_wrong_descriptor_is_refused_as_ever(gpu, tmp_path):
    _, direct = made(DESCRIBED, tmp_path)
    memory = torch.zeros(4096, dtype=torch.float16)
    for _ in range(3):
        direct(memory, memory, 16, 64)
    with pytest.raises(AssertionError, match="16-byte aligned"):
        direct(memory[1:], memory, 16, 64)
    with pytest.raises(AssertionError, match="strides must be 16-byte aligned"):
        direct(memory, memory, 16, 64, stride=63)


@pytest.mark.parametrize(("text", "sizes"), [(DESCRIBED, (64,)), (FIXED, ())])
def test_no_tensor_is_kept_alive(gpu, tmp_path, text, sizes):
    _, direct = made(text, tmp_path)
    memory = torch.zeros(4096, dtype=torch.float16)
    for _ in range(3):
        direct(memory, memory, 16, *sizes)
    gpu.launches.clear()
    seen = weakref.ref(memory)
    del memory
    assert seen() is None


def test_hooks_see_every_launch(gpu, tmp_path):
    _, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    assert is_direct(gpu.launches[-1])
    seen = []
    hooks = triton.knobs.runtime.launch_enter_hook
    hooks.add(seen.append)
    try:
        direct((1,), a, a, 16, 16, 0.5)
        assert not is_direct(gpu.launches[-1])
        # Triton's C function calls the hooks that it is given.
        assert hooks in gpu.launches[-1]
    finally:
        hooks.remove(seen.append)
    direct((1,), a, a, 16, 16, 0.5)
    assert is_direct(gpu.launches[-1])


@pytest.mark.parametrize("debug", [True, False])
def test_a_knob_that_is_set_later_makes_another_binary(gpu, tmp_path, monkeypatch, debug):
    module, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    monkeypatch.setattr(triton.knobs.runtime, "debug", debug)
    for expected in (False, False, True):
        assert agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5) is expected
    assert len({one.function for one in gpu.compiled}) == 1 + debug


def test_instrumented_kernels_are_launched_by_triton(gpu, tmp_path, monkeypatch):
    module, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    monkeypatch.setattr(triton.knobs.compilation, "instrumentation_mode", "fpsan")
    assert not agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5)


def test_what_watches_launches_sees_them(gpu, tmp_path, monkeypatch):
    _, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    seen = []
    monkeypatch.setattr(triton.JITFunction, "run", lambda *_, **named: seen.append(named["grid"]))
    direct((7,), a, a, 16, 16, 0.5)
    assert seen == [(7,)]


def test_streams_are_those_of_the_moment(gpu, tmp_path):
    module, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)
    for stream in (11, 11, 33, 44):
        gpu.streams[0] = stream
        agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5)
        assert stream in gpu.launches[0][:4]


def test_each_gpu_has_binaries_of_its_own(monkeypatch, tmp_path):
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        module, direct = made(PLAIN, tmp_path)
        a = torch.zeros(16)
        for at in (0, 0, 1, 0, 1, 1):
            gpu.device = at
            agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5)
            assert gpu.launches[0][3] == gpu.streams[at]
        assert is_direct(gpu.launches[0])
        assert len(gpu.compiled) == 2


def test_a_tensor_elsewhere_is_left_to_triton(gpu, tmp_path):
    _, direct = made(PLAIN, tmp_path)

    class Elsewhere(torch.Tensor):
        is_cuda = False

    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    # Triton asks the driver whether the GPU can reach it.
    direct((1,), a, a.as_subclass(Elsewhere), 16, 16, 0.5)
    assert not is_direct(gpu.launches[-1])


def test_a_kernel_that_reads_variables_of_its_module_is_launched_by_triton(gpu, tmp_path):
    text = PLAIN.replace("+ x", "+ x * SCALE").replace("@", "SCALE = tl.constexpr(2)\n\n@", 1)
    module, direct = made(text, tmp_path)
    a = torch.zeros(16)
    for _ in range(3):
        direct((1,), a, a, 16, 16, 0.5)
    module.SCALE = triton.language.constexpr(3)
    with pytest.raises(RuntimeError, match="SCALE has changed"):
        direct((1,), a, a, 16, 16, 0.5)


def test_a_patched_kernel_is_launched_directly_under_our_hook_alone(gpu, tmp_path, monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "add_stages_inspection_hook", None)
    module, direct = made(PLAIN, tmp_path)
    patch(module.kernel, ("latency", "a", {}))
    a = torch.zeros(16)
    for expected in (False, True, True):
        assert agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5) is expected
    monkeypatch.setattr(
        triton.knobs.runtime, "add_stages_inspection_hook", lambda *_: ("other", "other")
    )
    for _ in range(3):
        assert not agree(gpu, module, direct, (1,), a, a, 16, 16, 0.5)


def test_direct_launches_can_be_switched_off(gpu, tmp_path, monkeypatch):
    monkeypatch.setenv("TILE2TRITON_DIRECT_LAUNCHES", "0")
    module = import_module(PLAIN, tmp_path / "emitted.py")
    assert direct_launcher(module, PLAIN, "launch", module.launch, module.launch) is None


def test_memory_that_a_launch_needs_is_asked_for_by_triton(gpu, tmp_path):
    gpu.metadata["global_scratch_size"] = 128
    module, direct = made(PLAIN, tmp_path)
    asked = []

    def allocate(size, alignment, stream):
        asked.append(size)
        return torch.zeros(size, dtype=torch.int8)

    triton.set_allocator(allocate)
    a = torch.zeros(16)
    for _ in range(3):
        direct((2,), a, a, 16, 16, 0.5)
    assert asked == [256, 256, 256]
    assert module.kernel.device_caches


def test_threads_launch_what_they_ask_for(gpu, tmp_path):
    _, direct = made(PLAIN, tmp_path)
    a = torch.zeros(16)

    def launch(at):
        for _ in range(200):
            direct((1,), a[at // 3 % 2 :], a[at % 2 :], 16, (1, 3, 16)[at % 3], 0.5)

    threads = [threading.Thread(target=launch, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each of them has a binary of its own.
    assert len(gpu.launches) == 1200
    assert len(set(map(tuple, map(plain, gpu.launches)))) == 6
