"""gemm: emitted from gemm.py by tile2triton.

Specialised for transpose_B=True, dtype='float16', out_dtype='float16',
accum_dtype='float32'.
"""

import torch
import triton
import triton.language as tl
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
swizzle2d = gluon.jit(tl.swizzle2d.fn)


@gluon.jit
def gemm_consumer(
    part: gl.constexpr,
    C_desc,
    K: gl.constexpr,
    block_N: gl.constexpr,
    block_M: gl.constexpr,
    block_K: gl.constexpr,
    M: gl.constexpr,
    N: gl.constexpr,
    A_shared_ring,
    B_shared_ring,
    C_tile,
    A_shared_full,
    B_shared_full,
    A_shared_empty,
    B_shared_empty,
    stages: gl.constexpr,
):
    C_local_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [gl.num_warps(), 1], [16, block_N, 16]
    )
    left_layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [gl.num_warps(), 1], [16, block_N // 2, 16]
    )
    A_shared_turn = 0
    B_shared_turn = 0
    for tile in range(
        gl.program_id(0),
        gl.cdiv(N, block_N) * gl.cdiv(gl.cdiv(M, block_M), 2),
        gl.num_programs(0),
    ):
        pid_x = tile % gl.cdiv(N, block_N)
        pid_y = tile // gl.cdiv(N, block_N)
        # Blocks run in panels, so that neighbours share tiles in the L2 cache.
        by, bx = swizzle2d(
            pid_y, pid_x, gl.cdiv(gl.cdiv(M, block_M), 2), gl.cdiv(N, block_N), 8
        )
        by = by * 2 + part
        C_local = gl.zeros((block_M, block_N), gl.float32, layout=C_local_layout)
        for k in range(gl.cdiv(K, block_K)):
            A_shared_slot = part * stages + A_shared_turn % stages
            mbarrier.wait(
                A_shared_full.index(A_shared_slot), A_shared_turn // stages & 1
            )
            A_shared = A_shared_ring.index(A_shared_slot)
            A_shared_turn += 1
            B_shared_slot = B_shared_turn % stages
            mbarrier.wait(
                B_shared_full.index(B_shared_slot), B_shared_turn // stages & 1
            )
            B_shared = B_shared_ring.index(B_shared_slot)
            B_shared_turn += 1
            C_local = warpgroup_mma(
                A_shared, B_shared.permute((1, 0)), C_local, is_async=True
            )
            C_local = warpgroup_mma_wait(1, deps=[C_local])
            mbarrier.arrive(
                A_shared_empty.index(part * stages + (A_shared_turn - 2) % stages),
                count=1,
                pred=k > 0,
            )
            mbarrier.arrive(
                B_shared_empty.index((B_shared_turn - 2) % stages), count=1, pred=k > 0
            )
        C_local = warpgroup_mma_wait(0, deps=[C_local])
        mbarrier.arrive(
            A_shared_empty.index(part * stages + (A_shared_turn - 1) % stages),
            count=1,
            pred=gl.cdiv(K, block_K) > 0,
        )
        mbarrier.arrive(
            B_shared_empty.index((B_shared_turn - 1) % stages),
            count=1,
            pred=gl.cdiv(K, block_K) > 0,
        )
        # T.copy(C_local, C[by * block_M, bx * block_N])
        # Stored in 2 parts, which take less shared memory.
        left, right = gl.split(
            gl.reshape(C_local, (block_M, 2, block_N // 2)).permute((0, 2, 1))
        )
        left = gl.convert_layout(left, left_layout, assert_trivial=True)
        right = gl.convert_layout(right, left_layout, assert_trivial=True)
        tma.store_wait(0)
        C_tile.index(part).store(left.to(gl.float16))
        fence_async_shared()
        store_tile(C_desc, [by * block_M, bx * block_N], C_tile.index(part))
        tma.store_wait(0)
        C_tile.index(part).store(right.to(gl.float16))
        fence_async_shared()
        store_tile(
            C_desc, [by * block_M, bx * block_N + block_N // 2], C_tile.index(part)
        )
    tma.store_wait(0)


@gluon.jit
def gemm_producer(
    A_desc,
    B_desc,
    K: gl.constexpr,
    block_N: gl.constexpr,
    block_M: gl.constexpr,
    block_K: gl.constexpr,
    M: gl.constexpr,
    N: gl.constexpr,
    A_shared_ring,
    B_shared_ring,
    A_shared_full,
    B_shared_full,
    A_shared_empty,
    B_shared_empty,
    stages: gl.constexpr,
):
    turn = 0
    for tile in range(
        gl.program_id(0),
        gl.cdiv(N, block_N) * gl.cdiv(gl.cdiv(M, block_M), 2),
        gl.num_programs(0),
    ):
        pid_x = tile % gl.cdiv(N, block_N)
        pid_y = tile // gl.cdiv(N, block_N)
        by_0, bx = swizzle2d(
            pid_y, pid_x, gl.cdiv(gl.cdiv(M, block_M), 2), gl.cdiv(N, block_N), 8
        )
        by_0 = by_0 * 2
        by_1, bx = swizzle2d(
            pid_y, pid_x, gl.cdiv(gl.cdiv(M, block_M), 2), gl.cdiv(N, block_N), 8
        )
        by_1 = by_1 * 2 + 1
        for k in range(gl.cdiv(K, block_K)):
            slot = turn % stages
            mbarrier.wait(A_shared_empty.index(slot), turn // stages & 1 ^ 1)
            mbarrier.expect(A_shared_full.index(slot), A_desc.block_type.nbytes)
            load_tile(
                A_desc,
                [by_0 * block_M, k * block_K],
                A_shared_full.index(slot),
                A_shared_ring.index(slot),
            )
            slot = stages + turn % stages
            mbarrier.wait(A_shared_empty.index(slot), turn // stages & 1 ^ 1)
            mbarrier.expect(A_shared_full.index(slot), A_desc.block_type.nbytes)
            load_tile(
                A_desc,
                [by_1 * block_M, k * block_K],
                A_shared_full.index(slot),
                A_shared_ring.index(slot),
            )
            slot = turn % stages
            mbarrier.wait(B_shared_empty.index(slot), turn // stages & 1 ^ 1)
            mbarrier.expect(B_shared_full.index(slot), B_desc.block_type.nbytes)
            load_tile(
                B_desc,
                [bx * block_N, k * block_K],
                B_shared_full.index(slot),
                B_shared_ring.index(slot),
            )
            turn += 1


@gluon.jit
def gemm_kernel(
    A_desc,
    B_desc,
    C_desc,
    K: gl.constexpr,
    block_N: gl.constexpr,
    block_M: gl.constexpr,
    block_K: gl.constexpr,
    M: gl.constexpr,
    N: gl.constexpr,
    stages: gl.constexpr,
):
    A_shared_ring = gl.allocate_shared_memory(
        A_desc.dtype, [2 * stages, block_M, block_K], A_desc.layout
    )
    A_shared_full = gl.allocate_shared_memory(
        gl.int64, [2 * stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(2 * stages):
        mbarrier.init(A_shared_full.index(i), count=1)
    A_shared_empty = gl.allocate_shared_memory(
        gl.int64, [2 * stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(2 * stages):
        mbarrier.init(A_shared_empty.index(i), count=1)
    B_shared_ring = gl.allocate_shared_memory(
        B_desc.dtype, [stages, block_N, block_K], B_desc.layout
    )
    B_shared_full = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(B_shared_full.index(i), count=1)
    B_shared_empty = gl.allocate_shared_memory(
        gl.int64, [stages, 1], mbarrier.MBarrierLayout()
    )
    for i in gl.static_range(stages):
        mbarrier.init(B_shared_empty.index(i), count=2)
    C_tile = gl.allocate_shared_memory(
        C_desc.dtype, [2, block_M, block_N // 2], C_desc.layout
    )
    fence_async_shared()
    gl.warp_specialize(
        [
            (
                gemm_consumer,
                (
                    0,
                    C_desc,
                    K,
                    block_N,
                    block_M,
                    block_K,
                    M,
                    N,
                    A_shared_ring,
                    B_shared_ring,
                    C_tile,
                    A_shared_full,
                    B_shared_full,
                    A_shared_empty,
                    B_shared_empty,
                    stages,
                ),
            ),
            (
                gemm_consumer,
                (
                    1,
                    C_desc,
                    K,
                    block_N,
                    block_M,
                    block_K,
                    M,
                    N,
                    A_shared_ring,
                    B_shared_ring,
                    C_tile,
                    A_shared_full,
                    B_shared_full,
                    A_shared_empty,
                    B_shared_empty,
                    stages,
                ),
            ),
            (
                gemm_producer,
                (
                    A_desc,
                    B_desc,
                    K,
                    block_N,
                    block_M,
                    block_K,
                    M,
                    N,
                    A_shared_ring,
                    B_shared_ring,
                    A_shared_full,
                    B_shared_full,
                    A_shared_empty,
                    B_shared_empty,
                    stages,
                ),
            ),
        ],
        [4, 1],
        [240, 24],
    )


# The constants of the kernels; what is shared was proved for these.
M = 8192
K = 8192
N = 8192
block_N = 256
block_M = 64
block_K = 64
stages = 4
grid = (min(triton.cdiv(N, block_N) * triton.cdiv(triton.cdiv(M, block_M), 2), 132),)

several_gpus = torch.cuda.device_count() > 1


def gemm(A, B):
    """A: (M, K) float16, B: (N, K) float16 -> C: (M, N) float16."""
    try:
        fits = (
            A.shape == (M, K)
            and B.shape == (N, K)
            and A.dtype == B.dtype == torch.float16
            and A.is_contiguous()
            and B.is_contiguous()
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
    if min(grid) < 0:
        raise ValueError(f"negative extents in the grid {grid}")
    if 0 in grid:
        return C
    # TMA reads from multiples of 16 bytes only.
    if A.data_ptr() % 16:
        A = A.clone()
    if B.data_ptr() % 16:
        B = B.clone()
    A_desc = TileDescriptor(
        A,
        [M, K],
        [K, 1],
        [block_M, block_K],
        gl.NVMMASharedLayout.get_default_for([block_M, block_K], gl.float16),
    )
    B_desc = TileDescriptor(
        B,
        [N, K],
        [K, 1],
        [block_N, block_K],
        gl.NVMMASharedLayout.get_default_for([block_N, block_K], gl.float16),
    )
    C_desc = TileDescriptor(
        C,
        [M, N],
        [N, 1],
        [block_M, block_N // 2],
        gl.NVMMASharedLayout.get_default_for([block_M, block_N // 2], gl.float16),
    )
    gemm_kernel[grid](
        A_desc,
        B_desc,
        C_desc,
        K=K,
        block_N=block_N,
        block_M=block_M,
        block_K=block_K,
        M=M,
        N=N,
        stages=stages,
        num_warps=4,
        num_stages=1,
    )
    return C


def refuse(A, B):
    """Say which argument does not fit, and why."""
    checked("A", A, "(M, K)", (M, K), torch.float16)
    checked("B", B, "(N, K)", (N, K), torch.float16, A.device)
    raise ValueError("these arguments do not fit gemm")


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
