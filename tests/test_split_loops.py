"""Loops of kernels with T.Kernel that are shared out to several programs."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests import oracles
from tests.kernel_case import Case
from tests.kernels import whole_operands
from tests.kernels.decode_attention import decode_attention
from tests.kernels.dequantized_gemm import dequantized_gemm
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tile2triton import Schedule, TileError, compile_check, transpile

TILE = {"block_M": 32, "block_N": 32, "block_K": 32, "threads": 128}


def product(parts: int, K: int, dtype: str = "float16", **schedule: object) -> Case:
    kernel = gemm.scheduled(Schedule(split=parts, **schedule))
    types = {"dtype": dtype, "out_dtype": "int32", "accum_dtype": "int32"}
    said = "-".join(f"{key}{value}" for key, value in schedule.items())
    return Case(
        f"product-{parts}-{K}-{dtype}-{said}",
        kernel,
        oracles.gemm,
        ((50, K), (K, 70)),
        dtype=dtype,
        parameters={**TILE, **(types if dtype == "int8" else {})},
        tolerance="int32" if dtype == "int8" else "",
    )


def attention(parts: int, seq_len: int, is_causal: bool, dtype: str = "float16") -> Case:
    return Case(
        f"attention-{parts}-{seq_len}-{is_causal}-{dtype}",
        flash_attention.scheduled(Schedule(split=parts)),
        lambda q, k, v: oracles.flash_attention(q, k, v, is_causal),
        ((1, seq_len, 2, 32),) * 3,
        dtype=dtype,
        sizes=(1, 2, seq_len, 32),
        parameters={"is_causal": is_causal, "block_M": 32, "block_N": 32, "threads": 128},
    )


CASES = (
    # As many steps as parts or not, fewer than parts, and one.
    product(2, 128),
    product(3, 300),
    product(8, 72),
    product(4, 10),
    product(3, 160, "int8"),
    product(3, 160, "bfloat16"),
    product(3, 160, persistent=4),
    product(3, 160, swizzle=2),
    product(3, 160, subtile=2),
    # Whole blocks and blocks on the diagonal in loops of their own, and parts that see nothing.
    attention(2, 128, False),
    attention(3, 150, True),
    attention(8, 75, True, "bfloat16"),
    Case(
        "decoding",
        decode_attention.scheduled(Schedule(split=("k", 5))),
        oracles.gqa_decode,
        ((2, 8, 32), (2, 300, 2, 32), (2, 300, 2, 32)),
        parameters={"block_N": 32},
    ),
    Case(
        "unpacked",
        dequantized_gemm.scheduled(Schedule(split=3, swap_ab=True)),
        oracles.dequantized_gemm,
        ((16, 256), (64, 128), (64, 2)),
        dtypes={1: "uint8"},
        parameters={"block_M": 16, "block_N": 32, "block_K": 32, "threads": 128},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("poisoned")
def test_parts_are_combined_to_the_whole(case: Case, device: str) -> None:
    assert "parts" in case.transpiled().triton_source
    case.check(case.run(device))


def same(kernel: object, *inputs: object, parts: int = 3, tolerance: float = 1e-5) -> None:
    """Assert that a kernel in parts gives what the reference says of it unsplit."""
    compiled = kernel.compile(*inputs)
    wanted = compiled.reference(*(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs))
    split = kernel.scheduled(Schedule(split=parts))
    assert "_kernel_2[" in split.compile(*inputs).triton_source
    found = split(*inputs)
    wanted, found = (one if isinstance(one, (tuple, list)) else [one] for one in (wanted, found))
    for one, other in zip(wanted, found, strict=True):
        one = torch.as_tensor(one)
        torch.testing.assert_close(
            other.cpu().to(one.dtype), one, rtol=tolerance, atol=tolerance, equal_nan=True
        )


def softmax_sums(base: str) -> object:
    """Sums of exp(x) and of x * exp(x) by a running maximum, which takes raw numbers."""

    @tile2triton.kernel
    def sums(X, scale):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        scale: T.float32
        L = T.empty((M,), T.float32)
        S = T.empty((M,), T.float32)
        with T.Kernel(T.ceildiv(M, 8), threads=32) as bx:
            x = T.alloc_fragment((8, 16), T.float32)
            top = T.alloc_fragment((8,), T.float32)
            before = T.alloc_fragment((8,), T.float32)
            total = T.alloc_fragment((8,), T.float32)
            first = T.alloc_fragment((8,), T.float32)
            part = T.alloc_fragment((8,), T.float32)
            T.fill(top, -T.infinity(T.float32))
            T.clear(total)
            T.clear(first)
            for k in T.serial(T.ceildiv(N, 16)):
                T.copy(X[bx * 8, k * 16], x)
                for i, j in T.Parallel(8, 16):
                    seen = k * 16 + j < N
                    x[i, j] = T.if_then_else(seen, x[i, j], -T.infinity(T.float32))
                T.copy(top, before)
                T.reduce_max(x, top, dim=1, clear=False)
                for i in T.Parallel(8):
                    kept = (
                        T.exp2(before[i] * scale - top[i] * scale)
                        if base == "2"
                        else T.exp((before[i] - top[i]) * scale)
                    )
                    total[i] = kept * total[i]
                    first[i] *= kept
                for i, j in T.Parallel(8, 16):
                    moved = x[i, j] * scale - top[i] * scale
                    x[i, j] = T.exp2(moved) if base == "2" else T.exp(moved)
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(8):
                    total[i] += part[i]
                for i, j in T.Parallel(8, 16):
                    first[i] += x[i, j] * (k * 16 + j)
            for i in T.Parallel(8):
                if bx * 8 + i < M:
                    L[bx * 8 + i] = T.log(total[i]) + top[i]
                    S[bx * 8 + i] = first[i] / total[i]
        return L, S

    return sums


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("base", ["2", "e"])
def test_sums_relative_to_raw_maxima(base: str, device: str) -> None:
    same(softmax_sums(base), torch.randn(13, 100, device=device) * 30, 0.7)


@pytest.mark.usefixtures("poisoned")
def test_rows_of_which_a_part_sees_nothing(device: str) -> None:
    """A part's first numbers are all -inf, others follow; the row begins with a number."""
    sums = softmax_sums("2")
    x = torch.randn(8, 128, device=device)
    for row in range(8):
        x[row, 16 : 16 + 12 * row] = -torch.inf
    same(sums, x, 0.5, parts=5)
    x[3] = -torch.inf
    found = sums.scheduled(Schedule(split=4))(x, 0.5)[1]
    assert found.isnan().tolist() == [row == 3 for row in range(8)]


@pytest.mark.usefixtures("poisoned")
def test_sums_whose_columns_have_the_maxima(device: str) -> None:
    """Attention whose result is transposed, and two maxima with different factors at once."""

    @tile2triton.kernel
    def attended(Q, K, V, slope):
        M, N, D = T.const("M, N, D")
        Q: T.Tensor((M, D), T.float16)
        K: T.Tensor((N, D), T.float16)
        V: T.Tensor((N, D), T.float16)
        slope: T.float32
        turned = T.empty((D, M), T.float32)
        both = T.empty((M,), T.float32)
        with T.Kernel(T.ceildiv(M, 16), threads=32) as bx:
            q = T.alloc_shared((16, D), T.float16)
            k_tile = T.alloc_shared((16, D), T.float16)
            v_tile = T.alloc_shared((16, D), T.float16)
            scores = T.alloc_fragment((16, 16), T.float32)
            weights = T.alloc_fragment((16, 16), T.float16)
            out = T.alloc_fragment((D, 16), T.float32)
            total = T.alloc_fragment((16,), T.float32)
            product = T.alloc_fragment((16,), T.float32)
            top = T.alloc_fragment((16,), T.float32)
            low = T.alloc_fragment((16,), T.float32)
            new_top = T.alloc_fragment((16,), T.float32)
            new_low = T.alloc_fragment((16,), T.float32)
            T.copy(Q[bx * 16, 0], q)
            T.clear(out)
            T.clear(total)
            T.clear(product)
            T.fill(top, -T.infinity(T.float32))
            T.fill(low, T.infinity(T.float32))
            for k in T.Pipelined(T.ceildiv(N, 16), num_stages=2):
                T.copy(K[k * 16, 0], k_tile)
                T.copy(V[k * 16, 0], v_tile)
                T.gemm(q, k_tile, scores, transpose_B=True, clear_accum=True)
                T.reduce_max(scores, new_top, dim=1)
                T.reduce_min(scores, new_low, dim=1)
                for i in T.Parallel(16):
                    new_top[i] = T.max(new_top[i], top[i])
                    new_low[i] = T.min(new_low[i], low[i])
                    product[i] *= T.exp((top[i] - new_top[i]) * slope + new_low[i] - low[i])
                    product[i] += T.exp(-new_top[i] * slope + new_low[i])
                    total[i] *= T.exp2(slope * (top[i] - new_top[i]))
                for c, i in T.Parallel(D, 16):
                    out[c, i] *= T.exp2(slope * top[i] - slope * new_top[i])
                T.copy(new_top, top)
                T.copy(new_low, low)
                for i, j in T.Parallel(16, 16):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * slope)
                T.reduce_sum(scores, total, dim=1, clear=False)
                T.copy(scores, weights)
                T.gemm(v_tile, weights, out, transpose_A=True, transpose_B=True)
            for c, i in T.Parallel(D, 16):
                turned[c, bx * 16 + i] = out[c, i] / total[i]
            for i in T.Parallel(16):
                both[bx * 16 + i] = product[i] + low[i] + top[i]
        return turned, both

    matrices = [torch.randn(n, 32, device=device).half() for n in (48, 112, 112)]
    same(attended, *matrices, 0.3, tolerance=2e-3)


@tile2triton.kernel
def statistics(X, begin, stop, Y):
    """A sum from what Y holds on, extremes, and a count in variables; some steps are left out."""
    M, N = T.dynamic("M, N")
    X: T.Tensor((M, N), T.float32)
    begin: T.int32
    stop: T.int32
    Y: T.Tensor((M,), T.float32)
    low = T.empty((M,), T.float32)
    high = T.empty((M,), T.int32)
    with T.Kernel(M, threads=32) as y:
        x = T.alloc_fragment((16,), T.float32)
        least = T.alloc_fragment((1,), T.float32)
        total = T.alloc_var(T.float32, 0.0)
        count = T.alloc_var(T.int32, 7)
        T.fill(least, T.infinity(T.float32))
        total = Y[y]
        for k in T.serial(begin, stop, 2):
            if (k + y) % 3 != 0:
                T.copy(X[y, k * 16], x)
                T.reduce_min(x, least, dim=0, clear=False)
                count += 1
            for j in T.serial(3):
                total = total + X[y, j] * k
        Y[y] = total
        low[y] = least[0] - total
        high[y] = count * 2
    return low, high


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize(("begin", "stop", "parts"), [(0, 9, 2), (1, 8, 3), (3, 4, 4), (2, 2, 2)])
def test_variables_branches_steps_and_sizes_of_the_launch(begin, stop, parts, device) -> None:
    x, y = torch.randn(5, 16 * 9, device=device), torch.randn(5, device=device)
    other = y.clone()
    wanted = statistics.compile(x, begin, stop, y).reference(x, begin, stop, other)
    found = statistics.scheduled(Schedule(split=parts))(x, begin, stop, y)
    for one, two in zip((*wanted, other), (*found, y), strict=True):
        torch.testing.assert_close(two.cpu(), torch.as_tensor(one).cpu(), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("rows", [8, 2, 0])
def test_a_flag_is_set_in_any_part(rows: int, device: str) -> None:
    """What a variable holds behind the loop is needed only if it is read before it is set."""

    @tile2triton.kernel
    def added(X, used, Y):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        used: T.Tensor((M,), T.int32)
        Y: T.Tensor((N,), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((N,), T.float32)
            total = T.alloc_fragment((N,), T.float32)
            row = T.alloc_var(T.int32, 0)
            has_rows = T.alloc_var(T.bool, False)
            T.clear(total)
            for k in T.Pipelined(M, num_stages=2):
                row = M - 1 - k
                if used[row] != 0:
                    has_rows = True
                    T.copy(X[row, 0], x)
                    for i in T.Parallel(N):
                        total[i] += x[i]
            if has_rows:
                row = 3
                for i in T.Parallel(N):
                    Y[i] = total[i] * row

    x = torch.randn(8, 16, device=device)
    used = (torch.arange(8, device=device) < rows).int()
    y = torch.ones(16, device=device)
    wanted = x[:rows].sum(0) * 3 if rows else y.clone()
    added.scheduled(Schedule(split=3))(x, used, y)
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("poisoned")
def test_a_return_ends_both_programs_of_a_tile(device: str) -> None:
    @tile2triton.kernel
    def added(X, lengths, Y):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        lengths: T.Tensor((M,), T.int32)
        Y: T.Tensor((M,), T.float32)
        with T.Kernel(M, threads=32) as y:
            if lengths[y] == 0:
                return
            total = T.alloc_var(T.float32, 0.0)
            for k in T.serial(lengths[y]):
                total += X[y, k]
            Y[y] += total

    x, y = torch.randn(4, 20, device=device), torch.randn(4, device=device)
    lengths = torch.tensor([3, 0, 20, 1], dtype=torch.int32, device=device)
    wanted = y + torch.stack([row[:n].sum() for row, n in zip(x, lengths, strict=True)])
    added.scheduled(Schedule(split=3))(x, lengths, y)
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)


@tile2triton.kernel
def attention_with_sinks(X, sinks):
    """Rows that begin with a logit whose weight has no value, and rows that are not asked for."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    sinks: T.Tensor((M,), T.float32)
    Y = T.empty((M,), T.float32)
    top = T.empty((M,), T.float32)
    seen = T.empty((M,), T.float32)
    with T.Kernel(1, T.ceildiv(M, 8), 1, threads=32) as (_, by, _):
        x = T.alloc_fragment((8, 16), T.float32)
        first = T.alloc_shared((8, 1), T.float32)
        column = T.reshape(first, (8,))
        m = T.alloc_fragment((8, 1), T.float32)
        before = T.alloc_fragment((8, 1), T.float32)
        total = T.alloc_fragment((8,), T.float32)
        weighted = T.alloc_fragment((8,), T.float32)
        T.clear(weighted)
        T.fill(total, 1)
        T.copy(sinks[by * 8], column)
        T.copy(column, seen[by * 8])
        for i in T.Parallel(8):
            m[i, 0] = first[i, 0]
        for k in T.Pipelined(T.ceildiv(N, 16), num_stages=2):
            T.copy(X[by * 8, k * 16], x)
            for i, j in T.Parallel(8, 16):
                valid = k * 16 + j < N
                x[i, j] = T.if_then_else(valid, x[i, j] * first[i, 0], -T.infinity(T.float32))
            T.copy(m, before)
            T.reduce_max(x, m, dim=1, clear=False)
            for i in T.Parallel(8):
                total[i] *= T.exp(before[i, 0] - m[i, 0])
                weighted[i] *= T.exp(before[i, 0] - m[i, 0])
            for i, j in T.Parallel(8, 16):
                x[i, j] = T.exp(x[i, j] - m[i, 0])
            T.reduce_sum(x, total, dim=1, clear=False)
            for i, j in T.Parallel(8, 16):
                weighted[i] += x[i, j] * j
        for i in T.Parallel(8):
            if by * 8 + i < M:
                top[by * 8 + i] = m[i, 0]
                Y[by * 8 + i] = weighted[i] / total[i]
    return Y, top, seen


@pytest.mark.usefixtures("poisoned")
def test_sums_that_begin_with_something_and_tiles_of_two_names(device: str) -> None:
    x, sinks = torch.randn(13, 70, device=device), torch.randn(13, device=device)
    same(attention_with_sinks, x, sinks)


@pytest.mark.usefixtures("poisoned")
def test_a_sum_begins_with_what_its_other_name_was_given(device: str) -> None:
    @tile2triton.kernel
    def summed(X):
        N = T.const("N")
        X: T.Tensor((N, 16), T.float32)
        Y = T.empty((4, 4), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((4, 4), T.float32)
            total = T.alloc_fragment((4, 4), T.float32)
            flat = T.reshape(total, (16,))
            flat_x = T.reshape(x, (16,))
            T.clear(total)
            T.fill(flat, 5)
            for k in T.serial(N):
                T.copy(X[k, 0], flat_x)
                for i, j in T.Parallel(4, 4):
                    total[i, j] += x[i, j]
            T.copy(total, Y)
        return Y

    same(summed, torch.randn(9, 16, device=device))


@pytest.mark.usefixtures("poisoned")
def test_a_tensor_at_an_address_is_read_in_both_launches(device: str) -> None:
    @tile2triton.kernel
    def summed(P, C):
        P: T.ptr
        C: T.Tensor((16,), T.float32)
        with T.Kernel(1, threads=32):
            A = T.make_tensor(P, (9, 16), T.float32)
            x = T.alloc_fragment((16,), T.float32)
            a = T.alloc_fragment((16,), T.float32)
            T.clear(a)
            for k in T.serial(8):
                T.copy(A[k, 0], x)
                for i in T.Parallel(16):
                    a[i] += x[i]
            for i in T.Parallel(16):
                C[i] = a[i] * A[8, i]

    a, c = torch.randn(9, 16, device=device), torch.empty(16, device=device)
    summed.scheduled(Schedule(split=3))(a, c)
    torch.testing.assert_close(c, a[:8].sum(0) * a[8], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("schedule", "why"),
    [({"split": 2}, "no T.Pipelined or T.serial loop"), ({"split": ("k", 2)}, "no loop over `k`")],
)
def test_a_kernel_without_the_loop_is_refused(schedule: dict[str, object], why: str) -> None:
    @tile2triton.kernel
    def rows(X):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M,), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((N,), T.float32)
            total = T.alloc_fragment((1,), T.float32)
            for y in T.unroll(M):
                T.copy(X[y, 0], x)
                T.reduce_sum(x, total, dim=0)
                Y[y] = total[0]
        return Y

    with pytest.raises(TileError, match="T2T940") as caught:
        transpile(rows.scheduled(Schedule(**schedule)), M=4, N=16)
    assert why in str(caught.value)


def test_a_sum_relative_to_another_element_in_each_turn_is_refused() -> None:
    @tile2triton.kernel
    @T.split(2)
    def rescaled(X):
        N = T.const("N")
        X: T.Tensor((N, 16), T.float32)
        Y = T.empty((1,), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((16,), T.float32)
            top = T.alloc_fragment((16,), T.float32)
            new = T.alloc_fragment((16,), T.float32)
            total = T.alloc_var(T.float32, 0.0)
            T.clear(top)
            for k in T.serial(N):
                T.copy(X[k, 0], x)
                for i in T.Parallel(16):
                    new[i] = T.max(top[i], x[i])
                total = total * T.exp2(top[k] - new[k]) + T.exp2(-new[k])
                T.copy(new, top)
            Y[0] = total
        return Y

    with pytest.raises(TileError, match="`total` is neither a sum nor a maximum"):
        transpile(rescaled, N=8)


def test_a_loop_that_runs_backwards_is_refused() -> None:
    @tile2triton.kernel
    @T.split(2)
    def summed(X):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y = T.empty((1,), T.float32)
        with T.Kernel(1, threads=32):
            total = T.alloc_var(T.float32, 0.0)
            for k in T.serial(N - 1, -1, -1):
                total += X[k]
            Y[0] = total
        return Y

    with pytest.raises(TileError, match="T2T941"):
        transpile(summed, N=16)


@pytest.mark.parametrize(
    ("schedule", "written"),
    [
        ({"split": 4}, "T.split(4)"),
        ({"split": ("k", 4)}, 'T.split("k", 4)'),
        ({"stream_k": True}, "T.stream_k()"),
    ],
)
def test_the_report_has_what_is_written_and_no_more(schedule, written) -> None:
    kernel = transpile(gemm.scheduled(Schedule(**schedule)), M=512, N=512, K=512)
    found = [one.construct for one in kernel.lowered_facts.hint_report]
    assert found[-1] == written
    assert [one for one in found if "Pipelined" in one] == ["T.Pipelined(…, num_stages=3)"]


def test_an_extent_of_whole_operands_is_named() -> None:
    kernel = whole_operands.gemm.scheduled(Schedule(split=4))
    matrices = [torch.empty(64, 64, dtype=torch.float16)] * 2
    with pytest.raises(TileError, match="T2T942"):
        kernel.compile(*matrices, False)


@pytest.mark.compile
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("schedule", [{"split": 4}, {"stream_k": True}], ids=str)
def test_both_launches_compile(schedule: dict[str, object], target: str) -> None:
    sizes = {"M": 1000, "N": 1024, "K": 4096, "block_M": 128, "block_N": 128}
    kernel = transpile(gemm.scheduled(Schedule(**schedule)), **sizes, target=target)
    reports = compile_check.check(kernel.triton_source, kernel.lowered_facts, (target,))
    assert len(reports) == 2
    assert all(report.ok for report in reports)


def step(carry: object, behind: object = None, first: float = 0.0) -> object:
    """A kernel whose loop does what `carry` says with an accumulator and what each turn loads."""

    @tile2triton.kernel
    def stepped(X):
        N = T.const("N")
        X: T.Tensor((N, 16), T.float32)
        Y = T.empty((16,), T.float32)
        Z = T.empty((16,), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((16,), T.float32)
            a = T.alloc_fragment((16,), T.float32)
            m = T.alloc_fragment((16,), T.float32)
            T.clear(a)
            T.fill(m, first)
            for k in T.serial(N):
                T.copy(X[k, 0], x)
                carry(X, Y, x, a, m, k)
            if behind:
                T.copy(behind(x, a, m), Z)
            T.copy(a, Y)
        return Y, Z

    return stepped


@T.macro
def decayed(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] = a[i] * 0.5 + x[i]


@T.macro
def of_the_turn_before(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] += m[i]
        m[i] = x[i]


@T.macro
def sometimes(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        if a[i] < 4:
            a[i] += x[i]


@T.macro
def shifted(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] = a[15 - i] + x[i]


@T.macro
def rescaled_otherwise(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        new = T.max(m[i], x[i])
        a[i] = a[i] * T.exp2(m[i] - new) + T.exp2(x[i] - m[i])
        m[i] = new


@T.macro
def rescaled_by_another_power(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        new = T.max(m[i], x[i])
        a[i] = a[i] * T.exp(m[i] - new) + T.exp2(x[i] - new)
        m[i] = new


@T.macro
def not_rescaled(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        m[i] = T.max(m[i], x[i])
        a[i] += T.exp2(x[i] - m[i])


@T.macro
def rescaled_in_some_turns(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        x[i] = T.max(m[i], x[i])
    if k % 2 == 0:
        for i in T.Parallel(16):
            a[i] = a[i] * T.exp2(m[i] - x[i]) + T.exp2(-x[i])
    for i in T.Parallel(16):
        m[i] = x[i]


@T.macro
def relative_to_what_stays(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] += T.exp2(x[i] - m[i])
        m[i] = m[i]


@T.macro
def stored(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] += x[i]
    T.copy(a, Y)


@T.macro
def ended(X, Y, x, a, m, k):
    for i in T.Parallel(16):
        a[i] += x[i]
    if X[k, 0] > 0:
        T.loop_break()


@pytest.mark.parametrize(
    ("carry", "why"),
    [
        (decayed, "`a` is neither a sum nor a maximum"),
        (of_the_turn_before, "`a` is neither a sum nor a maximum"),
        (sometimes, "depends on values of the turn before"),
        (shifted, "`a` is neither a sum nor a maximum"),
        (rescaled_otherwise, "`a` is neither a sum nor a maximum"),
        (rescaled_by_another_power, "`a` is neither a sum nor a maximum"),
        (not_rescaled, "`a` is neither a sum nor a maximum"),
        (rescaled_in_some_turns, "`a` is neither a sum nor a maximum"),
        (relative_to_what_stays, "`a` is neither a sum nor a maximum"),
        (stored, "the loop stores to `Y`"),
        (ended, "turns cannot be told apart"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_no_sum_is_refused(carry: object, why: str) -> None:
    with pytest.raises(TileError, match="T2T941") as caught:
        transpile(step(carry).scheduled(Schedule(split=2)), N=8)
    assert why in str(caught.value) and "k`" in str(caught.value)


@pytest.mark.parametrize(("columns", "stages"), [(256, ""), (64, "num_stages=4")])
def test_large_parts_are_not_loaded_ahead(columns: int, stages: str) -> None:
    """128 KiB each, of which two do not fit into the shared memory; or 32 KiB."""
    kernel = gemm.scheduled(Schedule(split=8))
    sizes = {"M": 1024, "N": 1024, "K": 8192, "block_M": 128, "block_N": columns}
    source = transpile(kernel, target="cuda:90", **sizes).triton_source
    (loop,) = (line for line in source.splitlines() if line.startswith("    for part"))
    assert stages in loop if stages else "num_stages" not in loop
