"""attention: emitted from flash_attention.py by tile2triton.

Specialised for is_causal=False, layout='bshd', dtype='float16'.
"""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna3


class _Together:
    __triton_builtin__ = True

    def __init__(self, label, priority=0, _semantic=None):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


# Triton 3.6 has no stages of warps: there all warps of a program go side by side.
warp_stage = getattr(gl.amd, "warp_pipeline_stage", None) or _Together


@gluon.jit
def attention_kernel(
    Q,
    K,
    V,
    O,
    seq_len: gl.constexpr,
    heads: gl.constexpr,
    dim: gl.constexpr,
    block_M: gl.constexpr,
    block_N: gl.constexpr,
    scale: gl.constexpr,
    stages: gl.constexpr,
):
    products: gl.constexpr = gl.amd.AMDMFMALayout(3, [16, 16, 16], True, [8, 1])
    lanes: gl.constexpr = gl.BlockedLayout([1, 8], [4, 16], [8, 1], [1, 0])
    memory: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 16, [1, 0])
    lanes_1: gl.constexpr = gl.SliceLayout(
        0,
        gl.DistributedLinearLayout(
            [[0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 1, 0]],
            [[0, 2, 0], [0, 0, 8], [0, 0, 16], [0, 0, 32], [0, 0, 64], [0, 4, 0]],
            [[0, 8, 0], [0, 16, 0], [0, 32, 0]],
            [],
            [1, 64, 128],
        ),
    )
    memory_1: gl.constexpr = gl.SharedLinearLayout(
        [
            [1, 0],
            [2, 0],
            [0, 8],
            [0, 16],
            [0, 32],
            [0, 64],
            [0, 17],
            [0, 34],
            [0, 68],
            [4, 0],
            [8, 0],
            [16, 0],
            [32, 0],
        ]
    )
    first: gl.constexpr = gl.DotOperandLayout(0, products, 8)
    second: gl.constexpr = gl.DotOperandLayout(1, products, 8)
    first_1: gl.constexpr = gl.DotOperandLayout(0, products, 4)
    second_1: gl.constexpr = gl.DotOperandLayout(1, products, 4)
    K_shared_ring = gl.allocate_shared_memory(
        gl.float16, [stages, block_N, dim], memory
    )
    V_shared_ring = gl.allocate_shared_memory(
        gl.float16, [stages, block_N, dim], memory_1
    )
    gl.static_assert(dim == 128)
    gl.static_assert(seq_len % block_N == 0)
    gl.static_assert(seq_len % block_M == 0)
    bx = gl.program_id(0)
    by = gl.program_id(1)
    bz = gl.program_id(2)

    first_row = bx * block_M

    # T.copy(Q[bz, first_row:first_row + block_M, by, :], Q_shared)
    offs_m_first = first_row + gl.arange(0, block_M, layout=gl.SliceLayout(1, first))
    offs_m = first_row + gl.arange(0, block_M, layout=gl.SliceLayout(1, products))
    offs_dim_first = gl.arange(0, dim, layout=gl.SliceLayout(0, first))
    offs_dim_lanes = gl.arange(0, dim, layout=gl.SliceLayout(0, lanes))
    offs_dim_lanes_1 = gl.arange(0, dim, layout=gl.SliceLayout(0, lanes_1))
    offs_dim = gl.arange(0, dim, layout=gl.SliceLayout(0, products))
    Q_shared = cdna3.buffer_load(
        Q + (bz * (seq_len * heads * dim) + by * dim),
        offs_m_first[:, None] * (heads * dim) + offs_dim_first[None, :],
    )
    acc = gl.zeros((block_M, dim), gl.float32, layout=products)
    row_sum = gl.zeros((block_M,), gl.float32, layout=gl.SliceLayout(1, products))
    row_max = gl.full(
        (block_M,), float("-inf"), gl.float32, layout=gl.SliceLayout(1, products)
    )

    # The tiles of the first turns.
    for i in gl.static_range(stages - 1):
        offs_n_ahead_lanes = i * block_N + gl.arange(
            0, block_N, layout=gl.SliceLayout(1, lanes)
        )
        offs_n_ahead_lanes_1 = i * block_N + gl.arange(
            0, block_N, layout=gl.SliceLayout(1, lanes_1)
        )
        # T.copy(K[bz, k * block_N:k * block_N + block_N, by, :], K_shared)
        K_shared_ahead = cdna3.buffer_load(
            K + (bz * (seq_len * heads * dim) + by * dim),
            offs_n_ahead_lanes[:, None] * (heads * dim) + offs_dim_lanes[None, :],
            mask=gl.full((block_N, dim), i < seq_len // block_N, gl.int1, layout=lanes),
        )
        # T.copy(V[bz, k * block_N:k * block_N + block_N, by, :], V_shared)
        V_shared_ahead = cdna3.buffer_load(
            V + (bz * (seq_len * heads * dim) + by * dim),
            offs_n_ahead_lanes_1[:, None] * (heads * dim) + offs_dim_lanes_1[None, :],
            mask=gl.full(
                (block_N, dim), i < seq_len // block_N, gl.int1, layout=lanes_1
            ),
        )
        K_shared_ring.index(i).store(K_shared_ahead)
        V_shared_ring.index(i).store(V_shared_ahead)
    offs_n_ahead_lanes = (stages - 1) * block_N + gl.arange(
        0, block_N, layout=gl.SliceLayout(1, lanes)
    )
    offs_n_ahead_lanes_1 = (stages - 1) * block_N + gl.arange(
        0, block_N, layout=gl.SliceLayout(1, lanes_1)
    )
    # T.copy(K[bz, k * block_N:k * block_N + block_N, by, :], K_shared)
    K_shared_ahead = cdna3.buffer_load(
        K + (bz * (seq_len * heads * dim) + by * dim),
        offs_n_ahead_lanes[:, None] * (heads * dim) + offs_dim_lanes[None, :],
        mask=gl.full(
            (block_N, dim), stages - 1 < seq_len // block_N, gl.int1, layout=lanes
        ),
    )
    # T.copy(V[bz, k * block_N:k * block_N + block_N, by, :], V_shared)
    V_shared_ahead = cdna3.buffer_load(
        V + (bz * (seq_len * heads * dim) + by * dim),
        offs_n_ahead_lanes_1[:, None] * (heads * dim) + offs_dim_lanes_1[None, :],
        mask=gl.full(
            (block_N, dim), stages - 1 < seq_len // block_N, gl.int1, layout=lanes_1
        ),
    )
    for k in range(seq_len // block_N):
        with warp_stage("memory", priority=0):
            K_shared = K_shared_ring.index(k % stages).permute((1, 0)).load(second)
            # Of a later turn, while the tiles of this one are multiplied.
            K_shared_ring.index((k + (stages - 1)) % stages).store(K_shared_ahead)
            V_shared_ring.index((k + (stages - 1)) % stages).store(V_shared_ahead)
            offs_n_ahead_lanes = (k + stages) * block_N + gl.arange(
                0, block_N, layout=gl.SliceLayout(1, lanes)
            )
            offs_n_ahead_lanes_1 = (k + stages) * block_N + gl.arange(
                0, block_N, layout=gl.SliceLayout(1, lanes_1)
            )
            # T.copy(K[bz, k * block_N:k * block_N + block_N, by, :], K_shared)
            K_shared_ahead = cdna3.buffer_load(
                K + (bz * (seq_len * heads * dim) + by * dim),
                offs_n_ahead_lanes[:, None] * (heads * dim) + offs_dim_lanes[None, :],
                mask=gl.full(
                    (block_N, dim),
                    k + stages < seq_len // block_N,
                    gl.int1,
                    layout=lanes,
                ),
            )
            # T.copy(V[bz, k * block_N:k * block_N + block_N, by, :], V_shared)
            V_shared_ahead = cdna3.buffer_load(
                V + (bz * (seq_len * heads * dim) + by * dim),
                offs_n_ahead_lanes_1[:, None] * (heads * dim)
                + offs_dim_lanes_1[None, :],
                mask=gl.full(
                    (block_N, dim),
                    k + stages < seq_len // block_N,
                    gl.int1,
                    layout=lanes_1,
                ),
            )
        with warp_stage("products", priority=1):
            scores = cdna3.mfma(
                Q_shared,
                K_shared,
                gl.zeros((block_M, block_N), gl.float32, layout=products),
            )
        with warp_stage("vectors", priority=0):
            # What was summed under the old maximum is scaled to the new one.
            new_max = gl.max(scores, axis=1)
            new_max = gl.maximum(row_max, new_max * scale)
            rescale = gl.exp2(row_max - new_max)
            row_sum = row_sum * rescale
            row_max = new_max
            scores = gl.exp2(scores * scale - row_max[:, None])
            row_sum = row_sum + gl.sum(scores, axis=1)
            acc = acc * rescale[:, None]

            weights = scores.to(gl.float16)
            V_shared = V_shared_ring.index(k % stages).load(second_1)
        with warp_stage("products", priority=1):
            acc = cdna3.mfma(gl.convert_layout(weights, first_1), V_shared, acc)

    acc = acc / row_sum[:, None]
    # T.copy(acc, O[bz, first_row:first_row + block_M, by, :])
    cdna3.buffer_store(
        acc.to(gl.float16),
        O + (bz * (seq_len * heads * dim) + by * dim),
        offs_m[:, None] * (heads * dim) + offs_dim[None, :],
    )


# The constants of the kernels; what is shared was proved for these.
batch = 4
seq_len = 4096
heads = 16
dim = 128
block_M = 128
block_N = 64
scale = 0.12751743082459868
stages = 2
grid = (triton.cdiv(seq_len, block_M), heads, batch)

several_gpus = torch.cuda.device_count() > 1


def attention(Q, K, V):
    """Arguments:
        Q, K, V: (batch, seq_len, heads, dim) float16
    Results:
        O: (batch, seq_len, heads, dim) float16
    """
    try:
        fits = (
            Q.shape == K.shape == V.shape == (batch, seq_len, heads, dim)
            and Q.dtype == K.dtype == V.dtype == torch.float16
            and Q.is_contiguous()
            and K.is_contiguous()
            and V.is_contiguous()
            and (not several_gpus or Q.get_device() == K.get_device() == V.get_device())
        )
    except (AttributeError, IndexError, TypeError, ValueError):
        fits = False
    if not fits:
        refuse(Q, K, V)
    if several_gpus and Q.get_device() not in (-1, torch.cuda.current_device()):
        with torch.cuda.device(Q.device):
            return attention(Q, K, V)
    O = torch.empty_like(Q)
    attention_kernel[grid](
        Q,
        K,
        V,
        O,
        seq_len=seq_len,
        heads=heads,
        dim=dim,
        block_M=block_M,
        block_N=block_N,
        scale=scale,
        stages=stages,
        num_warps=8,
        num_stages=1,
    )
    return O


def refuse(Q, K, V):
    """Say which argument does not fit, and why."""
    checked(
        "Q",
        Q,
        "(batch, seq_len, heads, dim)",
        (batch, seq_len, heads, dim),
        torch.float16,
    )
    checked(
        "K",
        K,
        "(batch, seq_len, heads, dim)",
        (batch, seq_len, heads, dim),
        torch.float16,
        Q.device,
    )
    checked(
        "V",
        V,
        "(batch, seq_len, heads, dim)",
        (batch, seq_len, heads, dim),
        torch.float16,
        Q.device,
    )
    raise ValueError("these arguments do not fit attention")


def checked(name, tensor, sizes, wanted, dtype, device=None):
    """The sizes of an argument that fits; an error that says why another does not."""
    if not isinstance(tensor, torch.Tensor):
        found = "None" if tensor is None else type(tensor).__name__
        raise TypeError(f"{name} must be a torch.Tensor, found {found}")
    found = tuple(tensor.shape)
    if len(found) != len(wanted):
        raise ValueError(
            f"{name} must have {len(wanted)} dimensions, {sizes}, "
            + f"found {len(found)}: {found}"
        )
    if any(size not in (None, here) for size, here in zip(wanted, found)):
        values = tuple("any" if size is None else size for size in wanted)
        raise ValueError(f"{name} must be of shape {sizes} = {values}, found {found}")
    if tensor.dtype != dtype:
        raise TypeError(
            f"{name} must be {dtype}, found {tensor.dtype}; pass {name}.to({dtype})"
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"{name} must be contiguous, found strides {tensor.stride()}; "
            + f"pass {name}.contiguous()"
        )
    if device is not None and tensor.device != device:
        raise ValueError(
            f"{name} must be on {device}, found {tensor.device}; "
            + f"pass {name}.to('{device}')"
        )
    return found
