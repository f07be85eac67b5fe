"""Programs on whole operands: each of them is what torch computes, and what the reference means."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import tile2triton
import tile2triton.language as T
from tile2triton.diagnostics import TileError

TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}
TOLERANCE |= {torch.int32: 0, torch.bool: 0}
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def check(kernel, arguments, expected, device):
    """What a kernel gives on a device, its reference meaning, and torch's answer are one."""
    there = [x.to(device) if isinstance(x, torch.Tensor) else x for x in arguments]
    made = kernel(*there)
    meant = kernel.reference(*arguments)
    if not isinstance(made, (tuple, list)):
        made, meant, expected = (made,), (meant,), (expected,)
    # Tensor cores round the float32 factors of a product.
    rounded = device == "cuda" and 'precision="tf32"' in kernel.compile(*there).triton_source
    for one, other, wanted in zip(made, meant, expected, strict=True):
        other = torch.as_tensor(np.asarray(other, np.float64))
        for found in (one.cpu().double(), other):
            assert found.shape == wanted.shape
            assert torch.equal(found.isnan(), wanted.isnan())
            error = (found - wanted.double()).nan_to_num().norm()
            tolerance = max(TOLERANCE[one.dtype], 2e-3 * rounded)
            # Where all is 0, as the logarithms of one probability, it is to a sum of such size.
            size = wanted.double().nan_to_num().norm().clamp_min(1.0)
            assert error <= tolerance * size
    return made


def normal(*shape, dtype=torch.float16, seed=0):
    generator = torch.Generator().manual_seed(seed + math.prod(shape))
    return torch.randn(*shape, generator=generator).to(dtype)


@tile2triton.kernel
def gemm_relu(A, B):
    C = T.gemm(A, B)
    return T.relu(C)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("m", "k", "n"), [(128, 64, 256), (100, 70, 33), (1, 40, 7)])
def test_gemm_with_an_epilogue(m, k, n, dtype, device, poisoned):
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    check(gemm_relu, [a, b], (a.double() @ b.double()).relu(), device)


@tile2triton.kernel
def attention(Q, K, V, mask=None):
    S = T.gemm(Q, K, transpose_B=True)
    P = T.softmax(S, scale=Q.shape[-1] ** -0.5, mask=mask)
    O = T.gemm(P, V)
    return O


def attended(q, k, v, visible=None):
    groups = q.shape[-3] // k.shape[-3]
    k, v = (x.double().repeat_interleave(groups, -3) for x in (k, v))
    scores = q.double() @ k.mT * q.shape[-1] ** -0.5
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(("heads", "shared", "m", "n"), [(2, 2, 128, 128), (4, 2, 50, 77)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_attention_is_online_and_skips_what_is_masked(
    heads, shared, m, n, is_causal, dtype, device, poisoned
):
    q = normal(2, heads, m, 32, dtype=dtype)
    k, v = normal(2, shared, n, 32, dtype=dtype), normal(2, shared, n, 48, dtype=dtype)
    visible = torch.ones(m, n, dtype=torch.bool).tril(n - m) if is_causal else None
    mask = "causal" if is_causal else None
    check(attention, [q, k, v, mask], attended(q, k, v, visible), device)


def test_one_loop_computes_a_masked_softmax_times_values():
    shape = T.Tensor((2, 4, 512, 64), "float16")
    program = attention.compile(shape, shape, shape, T.causal).after("tile_operands")
    # Whole tiles, then those on the diagonal.
    assert program.count("T.Pipelined") == 2
    assert program.count("T.if_then_else") == 1


@tile2triton.kernel
def window(Q, K, V, width):
    S = T.gemm(Q, K, transpose_B=True)
    i, j = T.arange(S.shape[-2])[:, None], T.arange(S.shape[-1])
    P = T.softmax(S, mask=(j <= i) & (j > i - width), scale=0.25)
    return T.gemm(P, V)


@pytest.mark.parametrize("width", [5, 70])
def test_a_window_is_seen_from_both_sides(width, device):
    q, k, v = (normal(2, 150, 16, seed=seed) for seed in range(3))
    i, j = torch.arange(150)[:, None], torch.arange(150)
    visible = (j <= i) & (j > i - width)
    scores = (q.double() @ k.double().mT * 0.25).masked_fill(~visible, -math.inf)
    check(window, [q, k, v, width], scores.softmax(-1) @ v.double(), device)


@tile2triton.kernel
def softmax(X):
    return T.softmax(X)


@tile2triton.kernel
def log_softmax(X):
    return T.log_softmax(X)


@pytest.mark.parametrize("shape", [(5, 300), (3, 7, 33), (3, 20000), (9, 1)], ids=str)
def test_softmax_of_rows_that_fit_and_that_do_not(shape, device, poisoned):
    x = normal(*shape)
    check(softmax, [x], x.double().softmax(-1), device)
    x = x.float()
    check(log_softmax, [x], x.double().log_softmax(-1), device)


@pytest.mark.parametrize("n", [300, 20000])
def test_minus_infinity_in_whole_tiles_is_no_nan_but_in_whole_rows(n, device):
    x = normal(3, n, dtype=torch.float32)
    x[0, : n // 2] = -math.inf
    x[1, n // 2 :] = -math.inf
    x[2] = -math.inf
    check(softmax, [x], x.double().softmax(-1), device)


@tile2triton.kernel
def gated(X, W, V, b):
    return T.silu(X @ W + b) * (X @ V)


def test_products_along_one_axis_share_a_loop(device):
    x, w, v, b = normal(2, 70, 96), normal(96, 80), normal(96, 80, seed=1), normal(80)
    expected = functional.silu(x.double() @ w.double() + b.double()) * (x.double() @ v.double())
    check(gated, [x, w, v, b], expected, device)
    assert gated.compile(x, w, v, b).after("tile_operands").count("T.Pipelined") == 1


@tile2triton.kernel
def added(X, Y):
    return X + Y * 2


def test_arithmetic_broadcasts_and_promotes(device):
    x, y = normal(3, 1, 50), normal(4, 1, dtype=torch.float32)
    (made,) = check(added, [x, y], x.double() + 2 * y.double(), device)
    assert made.dtype == torch.float32


def test_a_second_size_makes_one_kernel_for_all_others(device):
    @tile2triton.kernel
    def squared(X):
        return X * X

    kernels = []
    for shape in [(5, 40), (5, 56), (5, 44), (5, 63)]:
        x = normal(*shape)
        check(squared, [x], x.double() ** 2, device)
        kernels.append(squared.compile(x))
    assert len(set(map(id, kernels))) == 2
    assert "N = 40\n" in kernels[0].triton_source
    assert "\nN = " not in kernels[-1].triton_source.partition("def squared(")[0]


def refusal(kernel, *arguments):
    with pytest.raises(TileError) as caught:
        kernel.compile(*arguments)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.filename == __file__
    return diagnostic


def test_a_square_second_operand_must_say_which_way_it_is_meant():
    square = T.Tensor((64, 64), "float16")
    found = refusal(gemm_relu, square, square)
    assert found.code == "T2T822"
    assert "transpose_B=False" in found.hint
    assert 'A: T.Tensor["M K"], B: T.Tensor["K N"]' in found.hint


def test_shared_name_of_a_dimension_says_which_way_a_square_operand_is_meant(device):
    @tile2triton.kernel
    def product(A: T.Tensor["M K"], B: T.Tensor["K N"]):
        return T.gemm(A, B)

    @tile2triton.kernel
    def product_of_rows(A: T.Tensor["M K"], B: T.Tensor["N K"]):
        return T.gemm(A, B)

    a, b = normal(16, 16), normal(16, 16)
    check(product, [a, b], a.double() @ b.double(), device)
    check(product_of_rows, [a, b], a.double() @ b.double().T, device)


@pytest.mark.parametrize(
    ("shapes", "code"),
    [
        (((8, 5), (6, 7)), "T2T821"),
        (((8,), (8, 7)), "T2T820"),
        (((4, 8, 5), (3, 5, 7)), "T2T824"),
    ],
)
def test_operands_that_do_not_meet_are_refused_at_the_call(shapes, code):
    assert refusal(gemm_relu, *(T.Tensor(one, "float16") for one in shapes)).code == code


def test_operands_of_two_types_are_no_product():
    operands = T.Tensor((8, 5), "float16"), T.Tensor((5, 7), "float32")
    assert refusal(gemm_relu, *operands).code == "T2T823"


def test_shapes_that_do_not_broadcast_are_refused():
    found = refusal(added, T.Tensor((3, 5), "float16"), T.Tensor((4, 5), "float16"))
    assert found.code == "T2T801"
    assert found.found[0].startswith("X: (") and "=3" in found.found[0]


def test_a_chain_of_products_that_is_no_one_kernel_says_where_it_breaks():
    @tile2triton.kernel
    def two_layers(X, W, V):
        hidden = T.relu(T.gemm(X, W, transpose_B=False))
        return T.gemm(hidden, V, transpose_B=False)

    wide = T.Tensor((4096, 4096), "float16")
    assert refusal(two_layers, T.Tensor((128, 4096), "float16"), wide, wide).code == "T2T810"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (lambda X: T.relu(X) if X else X, "T2T803"),
        (lambda X: T.relu(X[:, :, 0]), "T2T802"),
        (lambda X: T.atomic_max(X, T.relu(X)), "T2T804"),
        (lambda X: T.gelu(X, approximate="fast"), "T2T825"),
        (lambda X: X + T.arange(0), "T2T826"),
        (lambda X: T.softmax(X, axis=2), "T2T808"),
        (lambda X: T.softmax(X.shape[0] * 1.5) + X, "T2T807"),
        (lambda X: X + [1], "T2T827"),
        (lambda X: torch.ones(5) * X, "T2T827"),
        (lambda X: T.pow(X, "x"), "T2T827"),
        (lambda X: T.reduce("median", X), "T2T828"),
        (lambda X: T.topk(X, 6)[0], "T2T829"),
        (lambda X: X + T.zeros(X), "T2T830"),
        (lambda X: T.permute(X, (0, 0)), "T2T831"),
        (lambda X: T.concat(X), "T2T832"),
        (lambda X: T.concat((X, X.T)), "T2T833"),
        (lambda X: X[X > 0], "T2T834"),
        (lambda X: X[T.arange(3), None, T.arange(3)], "T2T834"),
        (lambda X: T.gather(X, T.arange(3)), "T2T835"),
        (lambda X: T.reshape(X, (3, 5)), "T2T836"),
        (lambda X: X.cuda(), "T2T837"),
        (lambda X: X.gelu(), "T2T837"),
    ],
)
def test_what_cannot_be_done_with_whole_operands_is_refused(body, code):
    def function(X):
        T.relu(X)
        return body(X)

    assert refusal(tile2triton.kernel(function), T.Tensor((8, 5), "float16")).code == code


@tile2triton.kernel
def named_attention(Q: T.Tensor["B H M D"], K: T.Tensor["B G N D"], V: T.Tensor["B G N D"]):
    return T.gemm(T.softmax(T.gemm(Q, K), scale=0.25), V)


def test_names_of_extents_decide_what_is_contracted(device):
    q, k, v = normal(2, 4, 64, 64), normal(2, 2, 64, 64), normal(2, 2, 64, 64, seed=1)
    # The scale of the reference is 1 / 8.
    check(named_attention, [q, k, v], attended(2 * q, k, v), device)
    program = named_attention.compile(q, k, v).after("trace")
    assert "T.gemm(Q, K, transpose_B=True)" in program
    assert "K: T.Tensor((B, G, N, D), " in program


@pytest.mark.parametrize("shape", [(2, 2, 1, 16), (1, 1, 4, 1), (1, 2, 1, 1)])
def test_attention_over_extents_of_one(shape, device):
    q, k, v = (normal(*shape, seed=seed) for seed in range(3))
    scale = 0.25 * shape[-1] ** 0.5
    check(named_attention, [q, k, v], attended(scale * q, k, v), device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize(("m", "k", "n"), [(7, 1, 5), (70, 1, 90), (7, 1, 1), (1, 1, 5), (1, 1, 1)])
def test_gemm_that_contracts_one_element(m, k, n, dtype, device):
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype, seed=1)
    check(gemm_relu, [a, b], functional.relu(a.double() @ b.double()).to(dtype), device)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 4, 8, 16), (2, 2, 8, 32), (2, 2, 8, 32)), "`D` is 16 in `Q`, but 32 in `K`"),
        (((4, 8, 16), (2, 2, 8, 16), (2, 2, 8, 16)), "`Q` must be T.Tensor['B H M D']"),
    ],
)
def test_operands_that_are_not_what_annotations_say_are_refused(shapes, words):
    with pytest.raises(TileError, match="T2T410") as caught:
        named_attention.compile(*(T.Tensor(shape, "float16") for shape in shapes))
    assert words in str(caught.value)


def test_an_annotation_says_a_type_and_extents():
    @tile2triton.kernel
    def doubled(X: T.Tensor["M 64", "float16"]):
        return X * 2

    assert "T.Tensor((M, 64), " in doubled.compile(T.Tensor((8, 64), "float16")).after("trace")
    for shape, dtype in (((8, 32), "float16"), ((8, 64), "float32")):
        with pytest.raises(TileError, match="T2T410"):
            doubled.compile(T.Tensor(shape, dtype))


def test_later_calls_tell_numbers_of_equal_value_and_tensors_from_other_arguments(device):
    @tile2triton.kernel
    def shifted(X, shift=0, Y=None):
        return X + shift if Y is None else X + Y

    x, y = normal(9, dtype=torch.float32).to(device), normal(9, 1).to(device).float()
    whole = torch.arange(9, dtype=torch.int32, device=device)
    for _ in range(2):
        assert shifted(whole, 1).dtype == torch.int32
        assert shifted(whole, 1.0).dtype == torch.float32
        assert torch.equal(shifted(whole, shift=1), whole + 1)
        assert torch.equal(shifted(x), x)
        assert torch.equal(shifted(x, Y=y), x + y)
        assert torch.equal(shifted(x[:4].contiguous(), 2.0), x[:4] + 2)


def test_extents_with_two_names_stay_two_under_a_causal_mask(device):
    @tile2triton.kernel
    def causal(Q: T.Tensor["H M D"], K: T.Tensor["H N D"], V: T.Tensor["H N D"]):
        return T.gemm(T.softmax(T.gemm(Q, K), mask=T.causal, scale=0.125), V)

    for m, n in ((72, 72), (72, 96), (80, 80), (40, 72)):
        q, k, v = normal(2, m, 64), normal(2, n, 64), normal(2, n, 64, seed=1)
        visible = torch.ones(m, n, dtype=torch.bool).tril(n - m)
        check(causal, [q, k, v], attended(q, k, v, visible), device)
    # Made for equal sizes at first, the kernel is right for others.
    kernel = causal.compile(normal(2, 80, 64), normal(2, 80, 64), normal(2, 80, 64))
    assert {"M", "N"} <= kernel.lowered_facts.dims.keys()
    q, k, v = normal(2, 50, 64), normal(2, 90, 64), normal(2, 90, 64)
    made = kernel(*(x.to(device) for x in (q, k, v))).cpu().double()
    wanted = attended(q, k, v, torch.ones(50, 90, dtype=torch.bool).tril(40))
    assert (made - wanted).norm() < 2e-3 * wanted.norm()


@tile2triton.kernel
def whole_numbers(i, j, x):
    return i // j, i % j, i / j, 2 // j, x // 2, x % 2


@tile2triton.kernel
def distances(x):
    return abs(x)


@tile2triton.kernel
def rounded(x):
    return x.to("float16")


def test_signs_mean_what_torch_means_by_them(device):
    i, j = torch.arange(-9, 9, dtype=torch.int32), torch.tensor([3, -4, 5] * 6).int()
    x = normal(18, dtype=torch.float32) * 3
    check(whole_numbers, [i, j, x], (i // j, i % j, i / j, 2 // j, x // 2, x % 2), device)
    check(distances, [x], abs(x), device)
    check(rounded, [x], x.half(), device)
