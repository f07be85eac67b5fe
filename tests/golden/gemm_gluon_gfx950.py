"""gemm: emitted from gemm.py by tile2triton.

Specialised for transpose_B=True, dtype='float16', out_dtype='float16',
accum_dtype='float32'.
"""

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna4


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
swizzle2d = gluon.jit(tl.swizzle2d.fn)


@gluon.jit
def gemm_kernel(
    A,
    B,
    C,
    M: gl.constexpr,
    K: gl.constexpr,
    N: gl.constexpr,
    block_N: gl.constexpr,
    block_M: gl.constexpr,
    block_K: gl.constexpr,
    stages: gl.constexpr,
):
    products: gl.constexpr = gl.amd.AMDMFMALayout(4, [16, 16, 32], True, [2, 4])
    lanes: gl.constexpr = gl.SliceLayout(
        0,
        gl.DistributedLinearLayout(
            [[0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 128, 0]],
            [[0, 0, 8], [0, 0, 16], [0, 1, 0], [0, 2, 0], [0, 8, 0], [0, 16, 0]],
            [[0, 4, 0], [0, 32, 0], [0, 64, 0]],
            [],
            [1, 256, 32],
        ),
    )
    memory: gl.constexpr = gl.PaddedSharedLayout(
        [[512, 16]],
        [
            [0, 1],
            [0, 2],
            [0, 4],
            [0, 8],
            [0, 16],
            [1, 0],
            [2, 0],
            [8, 0],
            [16, 0],
            [4, 0],
            [32, 0],
            [64, 0],
            [128, 0],
        ],
        [],
        [256, 32],
    )
    first: gl.constexpr = gl.DotOperandLayout(0, products, 8)
    second: gl.constexpr = gl.DotOperandLayout(1, products, 8)
    A_shared_ring = gl.allocate_shared_memory(
        gl.float16, [stages, block_M, block_K], memory
    )
    B_shared_ring = gl.allocate_shared_memory(
        gl.float16, [stages, block_N, block_K], memory
    )
    gl.static_assert(M % block_M == 0)
    gl.static_assert(K % block_K == 0)
    gl.static_assert(N % block_N == 0)
    pid_x = gl.program_id(0)
    pid_y = gl.program_id(1)
    # Blocks run in panels, so that neighbours share tiles in the L2 cache.
    by, bx = swizzle2d(pid_y, pid_x, gl.num_programs(1), gl.num_programs(0), 8)
    C_local = gl.zeros((block_M, block_N), gl.float32, layout=products)
    offs_m_lanes = by * block_M + gl.arange(0, block_M, layout=gl.SliceLayout(1, lanes))
    offs_m = by * block_M + gl.arange(0, block_M, layout=gl.SliceLayout(1, products))
    offs_n_lanes = bx * block_N + gl.arange(0, block_N, layout=gl.SliceLayout(1, lanes))
    offs_n = bx * block_N + gl.arange(0, block_N, layout=gl.SliceLayout(0, products))
    # The tiles of the first turns.
    for i in gl.static_range(stages - 1):
        offs_k_ahead_lanes = i * block_K + gl.arange(
            0, block_K, layout=gl.SliceLayout(0, lanes)
        )
        # T.copy(A[by * block_M, k * block_K], A_shared)
        cdna4.async_copy.buffer_load_to_shared(
            A_shared_ring.index(i),
            A,
            offs_m_lanes[:, None] * K + offs_k_ahead_lanes[None, :],
            mask=gl.full(
                (block_M, block_K), i < gl.cdiv(K, block_K), gl.int1, layout=lanes
            ),
        )
        # T.copy(B[bx * block_N, k * block_K], B_shared)
        cdna4.async_copy.buffer_load_to_shared(
            B_shared_ring.index(i),
            B,
            offs_n_lanes[:, None] * K + offs_k_ahead_lanes[None, :],
            mask=gl.full(
                (block_N, block_K), i < gl.cdiv(K, block_K), gl.int1, layout=lanes
            ),
        )
        cdna4.async_copy.commit_group()
    cdna4.async_copy.wait_group(stages - 2)
    for k in range(gl.cdiv(K, block_K)):
        with warp_stage("memory", priority=0):
            A_shared = cdna4.async_copy.load_shared_relaxed(
                A_shared_ring.index(k % stages), first
            )
            B_shared = cdna4.async_copy.load_shared_relaxed(
                B_shared_ring.index(k % stages).permute((1, 0)), second
            )
            # Of a later turn, while the tiles of this one are multiplied.
            offs_k_ahead_lanes = (k + (stages - 1)) * block_K + gl.arange(
                0, block_K, layout=gl.SliceLayout(0, lanes)
            )
            # T.copy(A[by * block_M, k * block_K], A_shared)
            cdna4.async_copy.buffer_load_to_shared(
                A_shared_ring.index((k + (stages - 1)) % stages),
                A,
                offs_m_lanes[:, None] * K + offs_k_ahead_lanes[None, :],
                mask=gl.full(
                    (block_M, block_K),
                    k + (stages - 1) < gl.cdiv(K, block_K),
                    gl.int1,
                    layout=lanes,
                ),
            )
            # T.copy(B[bx * block_N, k * block_K], B_shared)
            cdna4.async_copy.buffer_load_to_shared(
                B_shared_ring.index((k + (stages - 1)) % stages),
                B,
                offs_n_lanes[:, None] * K + offs_k_ahead_lanes[None, :],
                mask=gl.full(
                    (block_N, block_K),
                    k + (stages - 1) < gl.cdiv(K, block_K),
                    gl.int1,
                    layout=lanes,
                ),
            )
            cdna4.async_copy.commit_group()
        cdna4.async_copy.wait_group(stages - 2)
        with warp_stage("products", priority=1):
            C_local = cdna4.mfma(A_shared, B_shared, C_local)
    cdna4.async_copy.wait_group(0)
    # T.copy(C_local, C[by * block_M, bx * block_N])
    cdna4.buffer_store(C_local.to(gl.float16), C, offs_m[:, None] * N + offs_n[None, :])


# The constants of the kernels; what is shared was proved for these.
M = 8192
K = 8192
N = 8192
block_N = 256
block_M = 256
block_K = 32
stages = 4
grid = (triton.cdiv(N, block_N), triton.cdiv(M, block_M))

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
    # Copies past registers read from multiples of 16 bytes only.
    if A.data_ptr() % 16:
        A = A.clone()
    if B.data_ptr() % 16:
        B = B.clone()
    gemm_kernel[grid](
        A,
        B,
        C,
        M=M,
        K=K,
        N=N,
        block_N=block_N,
        block_M=block_M,
        block_K=block_K,
        stages=stages,
        num_warps=8,
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
