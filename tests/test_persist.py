"""Grids of fewer programs than tiles, of kernels that have grids of their own."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernel_case import Case
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tile2triton import Schedule, TileError, transpile

TILE = {"block_M": 32, "block_N": 32, "block_K": 32, "threads": 128}


def product_case(M: int, N: int, programs: int, **schedule: int) -> Case:
    kernel = gemm.scheduled(Schedule(persistent=programs, **schedule))
    K = 72
    shapes = ((M, K), (K, N))
    name = f"{M}x{N}-{programs}{''.join(f'-{a}{b}' for a, b in schedule.items())}"
    return Case(name, kernel, oracles.gemm, shapes, parameters=TILE)


def attention_case(seq_len: int, is_causal: bool) -> Case:
    shape = (2, seq_len, 3, 32)
    return Case(
        f"attention-{seq_len}-{is_causal}",
        flash_attention.scheduled(Schedule(persistent=5)),
        lambda q, k, v: oracles.flash_attention(q, k, v, is_causal),
        (shape,) * 3,
        sizes=(2, 3, seq_len, 32),
        parameters={"is_causal": is_causal, "block_M": 32, "block_N": 32, "threads": 128},
    )


CASES = (
    # Programs that divide the tiles and that do not, one for all, and more than there are.
    *(product_case(160, 96, programs) for programs in (1, 4, 5, 100)),
    product_case(150, 70, 4),
    product_case(150, 200, 4, swizzle=2),
    attention_case(64, False),
    attention_case(75, True),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_every_tile_is_computed_once(case: Case, device: str) -> None:
    case.check(case.run(device))


def test_one_loop_over_tiles_and_stages_is_flat() -> None:
    text = transpile(gemm.scheduled(Schedule(persistent=True)), M=512, N=512, K=512).triton_source
    assert "132, flatten=True" in text
    assert "C_desc.store" in text
    assert "debug_barrier" not in text
    assert "triton.cdiv(N, block_N) * triton.cdiv(M, block_M), 132),)" in text
    # With two loops in a tile there is no one flat loop.
    heads = (1, 2, 512, 64)
    kernel = flash_attention.scheduled(Schedule(persistent=True))
    assert "flatten" not in transpile(kernel, *heads, is_causal=True).triton_source
    assert "flatten" in transpile(kernel, *heads, is_causal=False).triton_source


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("order", ["row", "column"])
def test_panels_of_a_grid_of_three_dimensions(order: str, device: str) -> None:
    @tile2triton.kernel
    @T.persistent(4)
    def numbers(X):
        A, B, C = T.const("A, B, C")
        X: T.Tensor((A, B, C), T.int32)
        Y = T.empty((A, B, C), T.int32)
        with T.Kernel(C, B, A, threads=32) as (x, y, z):
            T.use_swizzle(2, order=order)
            Y[z, y, x] = X[z, y, x] + z * 100 + y * 10 + x
        return Y

    x = torch.randint(0, 1000, (3, 5, 7), dtype=torch.int32, device=device)
    a, b, c = (torch.arange(n, device=device, dtype=torch.int32) for n in x.shape)
    added = 100 * a[:, None, None] + 10 * b[:, None] + c
    assert torch.equal(numbers(x), x + added)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("programs", [1, 3, 50])
def test_a_return_ends_a_tile_and_no_program(programs: int, device: str) -> None:
    @tile2triton.kernel
    @T.persistent(programs)
    def doubled(X, L, Y):
        A, B = T.const("A, B")
        X: T.Tensor((A, B), T.float32)
        L: T.Tensor((A,), T.int32)
        Y: T.Tensor((A, B), T.float32)
        with T.Kernel(T.ceildiv(B, 16), A, threads=32) as (x, y):
            f = T.alloc_fragment((16,), T.float32)
            T.clear(f)
            if x * 16 >= L[y]:
                T.copy(f, Y[y, x * 16])
                return
            T.copy(X[y, x * 16], f)
            for i in T.Parallel(16):
                f[i] *= 2
            T.copy(f, Y[y, x * 16])

    x = torch.randn(7, 64, device=device)
    lengths = torch.tensor([0, 64, 16, 17, 1, 40, 0], dtype=torch.int32, device=device)
    first = torch.arange(64, device=device) // 16 * 16
    y = torch.full_like(x, float("nan"))
    doubled(x, lengths, y)
    assert torch.equal(y, torch.where(first < lengths[:, None], 2 * x, 0))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 5)])
@pytest.mark.parametrize("panel", [None, 2])
@pytest.mark.parametrize("known", [True, False])
def test_sizes_that_are_0_or_known_at_the_launch_only(shape, panel, known, device) -> None:
    @tile2triton.kernel
    @T.persistent(3)
    def incremented(X):
        A, B = T.const("A, B") if known else T.dynamic("A, B")
        X: T.Tensor((A, B), T.int32)
        Y = T.empty((A, B), T.int32)
        with T.Kernel(B, A, threads=32) as (x, y):
            if panel:
                T.use_swizzle(panel)
            Y[y, x] = X[y, x] + 1
        return Y

    x = torch.randint(0, 100, shape, dtype=torch.int32, device=device)
    assert torch.equal(incremented(x), x + 1)
    if not known:
        # Two sizes may have a product of more than 31 bits.
        assert ".to(tl.int64)" in incremented.compile(x).triton_source


@pytest.mark.usefixtures("poisoned")
def test_tiles_of_any_number_are_copied_by_tensor_maps(device) -> None:
    @tile2triton.kernel
    @T.persistent(3)
    def turned(X):
        A = T.dynamic("A")
        B = T.const("B")
        X: T.Tensor((A, B), T.float16)
        Y = T.empty((A, B), T.float16)
        with T.Kernel(T.ceildiv(B, 32), T.ceildiv(A, 32), threads=32) as (x, y):
            tile = T.alloc_shared((32, 32), T.float16)
            one = T.alloc_shared((32, 32), T.float16)
            total = T.alloc_fragment((32, 32), T.float32)
            T.copy(X[y * 32, x * 32], tile)
            for i, j in T.Parallel(32, 32):
                one[i, j] = T.if_then_else(i == j, 1, 0)
            T.gemm(tile, one, total, clear_accum=True)
            T.copy(total, Y[y * 32, x * 32])
        return Y

    x = torch.randn(100, 96, dtype=torch.float16, device=device)
    assert "X_desc.load" in transpile(turned, x, target="cuda:90").triton_source
    assert torch.equal(turned(x), x)


def test_extents_that_may_be_negative_are_refused() -> None:
    @tile2triton.kernel
    @T.persistent(3)
    def counted(n, X):
        n: T.int32
        X: T.Tensor((1,), T.int32)
        with T.Kernel(n, n, threads=32) as (x, y):
            X[0] = x + y

    with pytest.raises(TileError, match="`n` may be below 0"):
        transpile(counted, target="cuda:90")


def test_programs_that_wait_for_all_others_are_refused() -> None:
    @tile2triton.kernel
    @T.persistent()
    def waiting(A):
        N = T.const("N")
        A: T.Tensor((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
            A[bx] = 1.0
            T.sync_grid()
            A[bx + 1] = A[bx]

    with pytest.raises(TileError, match="T2T877"):
        transpile(waiting, N=64)


PARTS = ((64, 128, 1), (64, 128, 2), (70, 104, 2), (70, 104, 4), (33, 24, 8))


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("M", "N", "parts"), PARTS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_tiles_stored_in_parts_are_whole(
    M: int, N: int, parts: int, dtype: str, device: str
) -> None:
    case = Case(
        f"{M}x{N}-{parts}-{dtype}",
        gemm.scheduled(Schedule(subtile=parts)),
        oracles.gemm,
        ((M, 72), (72, N)),
        dtype,
        parameters={**TILE, "block_N": 64, "out_dtype": dtype},
        tolerance="tf32" if dtype == "float32" else dtype,
    )
    case.check(case.run(device))


def test_parts_and_whether_there_are_any() -> None:
    sizes = {"M": 512, "N": 512, "K": 512}
    kernel = transpile(gemm.scheduled(Schedule(subtile=4)), **sizes, target="cuda:90")
    assert kernel.triton_source.count("C_desc.store") == 4
    assert "block_N // 4]" in kernel.triton_source
    assert [(o.how, o.construct) for o in kernel.lowered_facts.hint_report if "sub" in o.construct]
    for target in ("cuda:80", "hip:gfx942"):
        kernel = transpile(gemm.scheduled(Schedule(subtile=2)), **sizes, target=target)
        (said,) = (o for o in kernel.lowered_facts.hint_report if "subtile" in o.construct)
        assert said.how == "none"
        assert "tl.split" not in kernel.triton_source


def test_what_is_stored_as_it_was_summed_takes_the_memory_of_the_loop() -> None:
    types = dict.fromkeys(("dtype", "out_dtype", "accum_dtype"), "float32")
    sizes = {"M": 512, "N": 512, "K": 512, "block_N": 128, "block_K": 32}
    text = transpile(gemm, **types, **sizes, target="cuda:90").triton_source
    assert text.count("C_desc.store") == 2
    whole = transpile(gemm.scheduled(Schedule(subtile=1)), **types, **sizes, target="cuda:90")
    assert whole.triton_source.count("C_desc.store") == 1
