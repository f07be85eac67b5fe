"""attention: emitted from flash_attention.py by tile2triton.

Specialised for is_causal=True, layout='bshd', dtype='float16'.
"""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as TileDescriptor

# Their names in Triton 3.6 are others than later.
load_tile = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
store_tile = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global


@gluon.jit
def attention_consumer(
    part: gl.constexpr,
    Q_desc,
    O_desc,
    seq_len: gl.constexpr,
    dim: gl.constexpr,
    block_M: gl.constexpr,
    block_N: gl.constexpr,
    scale: gl.constexpr,
    K_shared_ring,
    V_shared_ring,
    Q_shared_tile,
    O_tile,
    K_shared_full,
    V_shared_full,
    Q_shared_full,
    K_shared_empty,
    V_shared_empty,
    stages: gl.constexpr,
):
    scores_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [gl.num_warps(), 1], [16, dim, 16]
    )
    scores_factor_layout: gl.constexpr = gl.DotOperandLayout(0, scores_layout, 2)
    K_shared_turn = 0
    V_shared_turn = 0
    gl.static_assert(dim == 128)
    bx = gl.program_id(0) * 2 + part
    by = gl.program_id(1)
    bz = gl.program_id(2)

    # The last rows have the most work and go first.
    first_row = (gl.cdiv(seq_len, block_M) - 1 - bx) * block_M
    whole = first_row // block_N
    stop = gl.cdiv(gl.minimum(first_row + block_M, seq_len), block_N)

    mbarrier.expect(Q_shared_full.index(part), Q_desc.block_type.nbytes)
    load_tile(
        Q_desc,
        [bz, by, first_row, 0],
        Q_shared_full.index(part),
        Q_shared_tile.index(part),
    )
    acc = gl.zeros((block_M, dim), gl.float32, layout=scores_layout)
    row_sum = gl.zeros((block_M,), gl.float32, layout=gl.SliceLayout(1, scores_layout))
    row_max = gl.full(
        (block_M,), float("-inf"), gl.float32, layout=gl.SliceLayout(1, scores_layout)
    )

    mbarrier.wait(Q_shared_full.index(part), 0)
    Q_shared = Q_shared_tile.index(part).reshape([block_M, dim])
    if whole > 0:
        # The first turn: each later one begins with its products, and ends the one before.
        K_shared_slot = K_shared_turn % stages
        mbarrier.wait(K_shared_full.index(K_shared_slot), K_shared_turn // stages & 1)
        K_shared = K_shared_ring.index(K_shared_slot).reshape([block_N, dim])
        K_shared_turn += 1
        scores = warpgroup_mma(
            Q_shared,
            K_shared.permute((1, 0)),
            gl.zeros((block_M, block_N), gl.float32, layout=scores_layout),
            use_acc=False,
            is_async=True,
        )
        scores = warpgroup_mma_wait(0, deps=[scores])
        mbarrier.arrive(K_shared_empty.index(K_shared_slot), count=1)
        new_max = gl.max(scores, axis=1)
        new_max = gl.maximum(row_max, new_max * scale)
        rescale = gl.exp2(row_max - new_max)
        row_sum = row_sum * rescale
        row_max = new_max
        scores_before = gl.exp2(scores * scale - row_max[:, None])
        row_sum = row_sum + gl.sum(scores_before, axis=1)
        for k in range(1, whole):
            K_shared_slot = K_shared_turn % stages
            mbarrier.wait(
                K_shared_full.index(K_shared_slot), K_shared_turn // stages & 1
            )
            K_shared = K_shared_ring.index(K_shared_slot).reshape([block_N, dim])
            K_shared_turn += 1
            scores = warpgroup_mma(
                Q_shared,
                K_shared.permute((1, 0)),
                gl.zeros((block_M, block_N), gl.float32, layout=scores_layout),
                use_acc=False,
                is_async=True,
            )
            # Of the turn before; it runs while the rest of this one is computed.
            acc = acc * rescale[:, None]
            weights = scores_before.to(gl.float16)
            V_shared_slot = V_shared_turn % stages
            mbarrier.wait(
                V_shared_full.index(V_shared_slot), V_shared_turn // stages & 1
            )
            V_shared = V_shared_ring.index(V_shared_slot).reshape([block_N, dim])
            V_shared_turn += 1
            weights_factor = gl.convert_layout(weights, scores_factor_layout)
            acc = warpgroup_mma(weights_factor, V_shared, acc, is_async=True)

            # What was summed under the old maximum is scaled to the new one.
            scores = warpgroup_mma_wait(1, deps=[scores])
            mbarrier.arrive(K_shared_empty.index(K_shared_slot), count=1)
            new_max = gl.max(scores, axis=1)
            new_max = gl.maximum(row_max, new_max * scale)
            rescale = gl.exp2(row_max - new_max)
            row_sum = row_sum * rescale
            row_max = new_max
            scores_before = gl.exp2(scores * scale - row_max[:, None])
            row_sum = row_sum + gl.sum(scores_before, axis=1)
            acc, _weights_factor = warpgroup_mma_wait(0, deps=[acc, weights_factor])
            mbarrier.arrive(V_shared_empty.index(V_shared_slot), count=1)
        acc = acc * rescale[:, None]
        weights = scores_before.to(gl.float16)
        V_shared_slot = V_shared_turn % stages
        mbarrier.wait(V_shared_full.index(V_shared_slot), V_shared_turn // stages & 1)
        V_shared = V_shared_ring.index(V_shared_slot).reshape([block_N, dim])
        V_shared_turn += 1
        weights_factor_1 = gl.convert_layout(weights, scores_factor_layout)
        acc = warpgroup_mma(weights_factor_1, V_shared, acc, is_async=True)
        acc, _weights_factor_1 = warpgroup_mma_wait(0, deps=[acc, weights_factor_1])
        mbarrier.arrive(V_shared_empty.index(V_shared_slot), count=1)
    offs_m = first_row + gl.arange(0, block_M, layout=gl.SliceLayout(1, scores_layout))

    # The blocks on the diagonal, or past the end of the sequence, need a mask.
    for k in range(whole, stop):
        offs_n = k * block_N + gl.arange(
            0, block_N, layout=gl.SliceLayout(0, scores_layout)
        )
        K_shared_slot = K_shared_turn % stages
        mbarrier.wait(K_shared_full.index(K_shared_slot), K_shared_turn // stages & 1)
        K_shared = K_shared_ring.index(K_shared_slot).reshape([block_N, dim])
        K_shared_turn += 1
        scores = warpgroup_mma(
            Q_shared,
            K_shared.permute((1, 0)),
            gl.zeros((block_M, block_N), gl.float32, layout=scores_layout),
            use_acc=False,
            is_async=True,
        )
        seen = offs_n[None, :] <= offs_m[:, None]
        scores = warpgroup_mma_wait(0, deps=[scores])
        mbarrier.arrive(K_shared_empty.index(K_shared_slot), count=1)
        scores = gl.where(seen, scores, float("-inf"))

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
        V_shared_slot = V_shared_turn % stages
        mbarrier.wait(V_shared_full.index(V_shared_slot), V_shared_turn // stages & 1)
        V_shared = V_shared_ring.index(V_shared_slot).reshape([block_N, dim])
        V_shared_turn += 1
        weights_factor_2 = gl.convert_layout(weights, scores_factor_layout)
        acc = warpgroup_mma(weights_factor_2, V_shared, acc, is_async=True)
        acc, _weights_factor_2 = warpgroup_mma_wait(0, deps=[acc, weights_factor_2])
        mbarrier.arrive(V_shared_empty.index(V_shared_slot), count=1)

    acc = acc / row_sum[:, None]
    O_tile.index(part).reshape([block_M, dim]).store(acc.to(gl.float16))
    fence_async_shared()
    store_tile(O_desc, [bz, by, first_row, 0], O_tile.index(part))
    tma.store_wait(0)


@gluon.jit
def attention_producer(
    K_desc,
    V_desc,
    seq_len: gl.constexpr,
    block_M: gl.constexpr,
    block_N: gl.constexpr,
    K_shared_ring,
    V_shared_ring,
    K_shared_full,
    V_shared_full,
    K_shared_empty,
    V_shared_empty,
    stages: gl.constexpr,
):
    bx_0 = gl.program_id(0) * 2
    bx_1 = gl.program_id(0) * 2 + 1
    by = gl.program_id(1)
    bz = gl.program_id(2)
    first_row_0 = (gl.cdiv(seq_len, block_M) - 1 - bx_0) * block_M
    first_row_1 = (gl.cdiv(seq_len, block_M) - 1 - bx_1) * block_M
    whole = first_row_0 // block_N
    stop = gl.cdiv(gl.minimum(first_row_0 + block_M, seq_len), block_N)
    turn = 0
    for k in range(stop):
        slot = turn % stages
        mbarrier.wait(K_shared_empty.index(slot), turn // stages & 1 ^ 1)
        mbarrier.expect(K_shared_full.index(slot), K_desc.block_type.nbytes)
        load_tile(
            K_desc,
            [bz, by, k * block_N, 0],
            K_shared_full.index(slot),
            K_shared_ring.index(slot),
        )
        slot = turn % stages
        mbarrier.wait(V_shared_empty.index(slot), turn // stages & 1 ^ 1)
        mbarrier.expect(V_shared_full.index(slot), V_desc.block_type.nbytes)
        load_tile(
            V_desc,
            [bz, by, k * block_N, 0],
            V_shared_full.index(slot),
            V_shared_ring.index(slot),
        )
        turn += 1


@gluon.jit
def attention_kernel(
    Q_desc,
    K_desc,
    V_desc,
    O_desc,
    seq_len: gl.constexpr,
    dim: gl.constexpr,
    block_M: gl.constexpr,
    block_N: gl.constexpr,
    scale: gl.constexpr,
    stages: gl.constexpr,
):
    K_shared_ring = gl.allocate_shared_memory(
        K_desc.dtype, [stages, 1, 1, block_N, dim], K_desc.layout
    )
    K_shared_full = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(K_shared_full.index(i), count=1)
    K_shared_empty = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(K_shared_empty.index(i), count=2)
    V_shared_ring = gl.allocate_shared_memory(
        V_desc.dtype, [stages, 1, 1, block_N, dim], V_desc.layout
    )
    V_shared_full = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(V_shared_full.index(i), count=1)
    V_shared_empty = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(V_shared_empty.index(i), count=2)
    Q_shared_tile = gl.allocate_shared_memory(
        Q_desc.dtype, [2, 1, 1, block_M, dim], Q_desc.layout
    )
    Q_shared_full = gl.allocate_shared_memory(
        gl.int64, [2, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(2):
        mbarrier.init(Q_shared_full.index(i), count=1)
    O_tile = gl.allocate_shared_memory(
        O_desc.dtype, [2, 1, 1, block_M, dim], O_desc.layout
    )
    fence_async_shared()
    gl.warp_specialize(
        [
            (
                attention_consumer,
                (
                    0,
                    Q_desc,
                    O_desc,
                    seq_len,
                    dim,
                    block_M,
                    block_N,
                    scale,
                    K_shared_ring,
                    V_shared_ring,
                    Q_shared_tile,
                    O_tile,
                    K_shared_full,
                    V_shared_full,
                    Q_shared_full,
                    K_shared_empty,
                    V_shared_empty,
                    stages,
                ),
            ),
            (
                attention_consumer,
                (
                    1,
                    Q_desc,
                    O_desc,
                    seq_len,
                    dim,
                    block_M,
                    block_N,
                    scale,
                    K_shared_ring,
                    V_shared_ring,
                    Q_shared_tile,
                    O_tile,
                    K_shared_full,
                    V_shared_full,
                    Q_shared_full,
                    K_shared_empty,
                    V_shared_empty,
                    stages,
                ),
            ),
            (
                attention_producer,
                (
                    K_desc,
                    V_desc,
                    seq_len,
                    block_M,
                    block_N,
                    K_shared_ring,
                    V_shared_ring,
                    K_shared_full,
                    V_shared_full,
                    K_shared_empty,
                    V_shared_empty,
                    stages,
                ),
            ),
        ],
        [4, 1],
        [240, 24],
    )


# The constants of the kernels; what is shared was proved for these.
batch = 4
seq_len = 4096
heads = 16
dim = 128
block_M = 64
block_N = 128
scale = 0.12751743082459868
stages = 2
grid = (triton.cdiv(triton.cdiv(seq_len, block_M), 2), heads, batch)

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
    # TMA reads from multiples of 16 bytes only.
    if Q.data_ptr() % 16:
        Q = Q.clone()
    if K.data_ptr() % 16:
        K = K.clone()
    if V.data_ptr() % 16:
        V = V.clone()
    Q_desc = TileDescriptor(
        Q,
        [batch, heads, seq_len, dim],
        [seq_len * heads * dim, dim, heads * dim, 1],
        [1, 1, block_M, dim],
        gl.NVMMASharedLayout.get_default_for([1, 1, block_M, dim], gl.float16),
    )
    K_desc = TileDescriptor(
        K,
        [batch, heads, seq_len, dim],
        [seq_len * heads * dim, dim, heads * dim, 1],
        [1, 1, block_N, dim],
        gl.NVMMASharedLayout.get_default_for([1, 1, block_N, dim], gl.float16),
    )
    V_desc = TileDescriptor(
        V,
        [batch, heads, seq_len, dim],
        [seq_len * heads * dim, dim, heads * dim, 1],
        [1, 1, block_N, dim],
        gl.NVMMASharedLayout.get_default_for([1, 1, block_N, dim], gl.float16),
    )
    O_desc = TileDescriptor(
        O,
        [batch, heads, seq_len, dim],
        [seq_len * heads * dim, dim, heads * dim, 1],
        [1, 1, block_M, dim],
        gl.NVMMASharedLayout.get_default_for([1, 1, block_M, dim], gl.float16),
    )
    attention_kernel[grid](
        Q_desc,
        K_desc,
        V_desc,
        O_desc,
        seq_len=seq_len,
        dim=dim,
        block_M=block_M,
        block_N=block_N,
        scale=scale,
        stages=stages,
        num_warps=4,
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
