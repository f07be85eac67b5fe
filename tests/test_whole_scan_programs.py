"""Programs with scans that people meet in models: each is one kernel, and what torch computes."""

import pytest
import torch
from torch.nn import functional

import tile2triton
import tile2triton.language as T
from tests.kernels import scan_programs
from tests.test_whole_operands import DTYPES, check, normal
from tests.test_whole_scans import recurrence

# What programs mean is not for Triton's version to say.
pytestmark = pytest.mark.slow


def selective_scan(x, delta, A, B, C, D=None, z=None, delta_softplus=False):
    """Step by step, in float64."""
    x, delta, A, B, C = (one.double() for one in (x, delta, A, B, C))
    delta = functional.softplus(delta) if delta_softplus else delta
    decay = torch.exp(delta[..., None] * A)
    added = (delta * x)[..., None] * B[..., None, :]
    y = (recurrence(decay, added, 0.0, 1) * C[..., None, :]).sum(-1)
    y = y if D is None else y + D.double() * x
    return y if z is None else y * functional.silu(z.double())


def operands(dtype, batch, tokens, channels, state):
    shape = (batch, tokens, channels)
    x, z = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, seed=1)
    delta = torch.rand(*shape).to(dtype)
    A, D = -torch.rand(channels, state) - 0.1, normal(channels, dtype=torch.float32)
    B, C = (normal(batch, tokens, state, dtype=dtype, seed=at) for at in (2, 3))
    return x, delta, A, B, C, D, z


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", [(2, 64, 64, 16), (3, 21, 50, 5)], ids=str)
def test_selective_scan(dtype, sizes, device, poisoned):
    x, delta, A, B, C, D, z = operands(dtype, *sizes)
    for options in ((None, None, False), (D, z, True)):
        given = [x, delta, A, B, C, *options]
        check(scan_programs.selective_scan, given, selective_scan(*given), device)


def test_selective_scan_by_an_associative_scan_of_tiles(device):
    x, delta, A, B, C, D, z = operands(torch.float16, 2, 37, 20, 5)
    tiled = scan_programs.selective_scan.scheduled(tile2triton.Schedule(tile={"L": 16}))
    given = [x, delta, A, B, C, D, z, True]
    check(tiled, given, selective_scan(*given), device)
    assert "tl.associative_scan(" in tiled.compile(*given).triton_source


@pytest.mark.parametrize(
    ("channels", "tile"), [(64, "16 8"), (12288, "16 16"), (32768, "8 32")], ids=str
)
def test_selective_scan_holds_its_state_and_copies_ahead(channels, tile):
    """Of many channels, each thread has one; of few, several threads share one."""
    given = [T.Tensor(s, "float16") for s in ((1, 64, channels),) * 2]
    given += [T.Tensor((channels, 16), "float32"), *(T.Tensor((1, 64, 16), "float16"),) * 2]
    kernel = scan_programs.selective_scan.compile(*given)
    program = kernel.after("tile_operands")
    length, columns = tile.split()
    assert f"block_L = {length}\nblock_N = {columns}\n" in program
    assert "threads=32" in program
    assert program.count("T.Pipelined(T.ceildiv(L, block_L), num_stages=3)") == 1
    assert "h_1 = T.alloc_fragment((block_L, E, block_N)" in program
    assert "T.alloc_shared" not in program
    # The power of e costs one product more.
    assert "tl.exp2(" in kernel.triton_source
    assert "tl.exp(" not in kernel.triton_source


def test_softplus_of_any_size(device):
    x = torch.linspace(-60, 60, 400)

    @tile2triton.kernel
    def softplus(x):
        return T.softplus(x)

    check(softplus, [x], torch.log1p(torch.exp(x.double())), device)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_linear_attention_with_decay(dtype, device):
    q, k, v = (normal(2, 3, 19, size, dtype=dtype, seed=size) for size in (8, 8, 12))
    decay = torch.tensor([0.5, 0.9, 1.0])
    outer = k.double()[..., :, None] * v.double()[..., None, :]
    states = recurrence(decay[:, None, None, None], outer, 0.0, 2)
    expected = (q.double()[..., None] * states).sum(-2)
    check(scan_programs.decayed_linear_attention, [q, k, v, decay], expected, device)


def test_rolling_mean(device):
    x, decay = normal(2, 33, 40, dtype=torch.float32), torch.rand(40)
    expected = recurrence(decay, (1 - decay.double()) * x.double(), 0.0, 1)
    check(scan_programs.rolling_mean, [x, decay], (expected, expected[:, -1]), device)


def test_means_sums_and_maxima_up_to_each_row(device):
    x = normal(3, 20, 33)
    count = torch.arange(1, 21)[:, None]
    check(scan_programs.causal_mean, [x], x.double().cumsum(1) / count, device)
    check(scan_programs.highest_so_far, [x], x.double().cummax(1)[0], device)
    starts = (torch.arange(20) % 7 == 3).float()
    expected = recurrence(1 - starts[:, None], x.double(), 0.0, 1)
    check(scan_programs.segmented_sum, [x, starts], expected, device)
