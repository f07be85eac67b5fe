"""Schedules: annotations in any order, composed, in files, by chip, on both forms of programs."""

import math

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.kernels.gemm import gemm as explicit_gemm
from tests.test_whole_operands import attended, check, normal
from tests.test_whole_scans import recurrence
from tile2triton import Schedule
from tile2triton.cli import main
from tile2triton.diagnostics import TileError


def product(A, B):
    return T.relu(T.gemm(A, B, transpose_B=False))


def attention(Q, K, V, mask=None):
    return T.gemm(T.softmax(T.gemm(Q, K, transpose_B=True), scale=0.25, mask=mask), V)


def tiled(kernel, *shapes, dtype="float16"):
    operands = (T.Tensor(shape, dtype) for shape in shapes)
    return kernel.compile(*operands).after("tile_operands")


def code_of(make):
    with pytest.raises(TileError) as caught:
        make()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.filename == __file__
    return diagnostic.code


@tile2triton.kernel
@T.parallel(block=(128, 1))
@T.vectorize(width=4)
@T.pipeline(num_stages=2)
def fused_gemm_relu(A, B):
    C = T.gemm(A, B)
    return T.relu(C)


@tile2triton.kernel
@T.pipeline(num_stages=2)
@T.vectorize(width=4)
@T.parallel(block=(128, 1))
def in_another_order(A, B):
    C = T.gemm(A, B)
    return T.relu(C)


def test_annotations_stand_in_any_order(device):
    shapes = (100, 64), (64, 300)
    program = tiled(fused_gemm_relu, *shapes)
    assert program.replace("fused_gemm_relu", "f") == tiled(in_another_order, *shapes).replace(
        "in_another_order", "f"
    )
    assert "threads=128" in program
    assert "num_stages=2" in program
    a, b = normal(100, 64), normal(64, 300)
    check(fused_gemm_relu, [a, b], (a.double() @ b.double()).relu(), device)


SCHEDULES = [
    Schedule(tile={"m": 32, "n": 64, "k": 32}, warps=2, pipeline=1),
    Schedule(persistent=3),
    Schedule(persistent=3, swizzle=2, tile={"m": 32}),
    Schedule(split=("k", 3)),
    Schedule(split=("K", 2), swizzle=2, warps=8),
    Schedule(persistent=2, split=("k", 3)),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@pytest.mark.parametrize(("m", "k", "n"), [(64, 256, 128), (50, 270, 70)])
def test_every_schedule_of_a_product_gives_the_same(schedule, m, k, n, device, poisoned):
    kernel = tile2triton.kernel(schedule=schedule)(product)
    a, b = normal(m, k), normal(k, n)
    check(kernel, [a, b], (a.double() @ b.double()).relu(), device)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(tile={"m": 32, "n": 32}, warps=4),
        Schedule(persistent=5),
        Schedule(split=("n", 3)),
        Schedule(split=("n", 5), tile={"m": 32}),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("m", "n"), [(128, 128), (50, 200)])
@pytest.mark.parametrize("mask", [None, "causal"])
def test_every_schedule_of_attention_gives_the_same(schedule, m, n, mask, device, poisoned):
    kernel = tile2triton.kernel(schedule=schedule)(attention)
    q, k, v = normal(2, m, 16), normal(2, n, 16, seed=1), normal(2, n, 24, seed=2)
    visible = torch.ones(m, n, dtype=torch.bool).tril(n - m) if mask else None
    check(kernel, [q, k, v, mask], attended(q, k, v, visible), device)


def test_a_split_sum_of_rows_is_combined(device):
    @tile2triton.kernel(schedule=Schedule(split=("N", 4)))
    def log_sum(X):
        return T.log_softmax(X)[..., 0:1] - X[..., 0:1]

    x = normal(3, 20000, dtype=torch.float32)
    expected = -x.double().logsumexp(-1, keepdim=True)
    check(log_sum, [x], expected, device)
    program = log_sum.compile(x).after("tile_operands")
    assert program.count("T.Kernel") == 2


def test_schedules_are_composed_and_the_second_one_wins():
    first = Schedule("first", tile={"m": 32, "n": 64}, warps=4)
    both = first | Schedule(tile={"n": 128}, pipeline=4)
    assert both == Schedule(tile={"m": 32, "n": 128}, warps=4, pipeline=4)
    assert first == Schedule(tile={"m": 32, "n": 64}, warps=4)


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_schedule_is_read_as_it_was_written(suffix, tmp_path):
    schedule = Schedule(
        "mine", tile={"m": 32}, warps=4, split=("k", 2), persistent=True, recompute=True
    ).on("hip:gfx942", warps=2, tile={"n": 16})
    path = schedule.write(tmp_path / f"mine.{suffix}")
    again = Schedule.read(path)
    assert again == schedule
    assert (again.name, repr(again)) == ("mine", repr(schedule))
    assert again.for_target("hip:gfx942").threads == 64
    assert again.for_target("cuda:90").threads == 128


def test_a_schedule_is_chosen_by_the_chip():
    schedule = Schedule(tile={"m": 64}).on("hip:gfx942", tile={"m": 32})
    kernel = tile2triton.kernel(schedule=schedule)(product)
    operands = T.Tensor((512, 64), "float16"), T.Tensor((64, 512), "float16")
    for target, size in (("cuda:90", 64), ("hip:gfx942", 32)):
        text = tile2triton.transpile(kernel, *operands, target=target).triton_source
        assert f"block_M = {size}\n" in text


def test_a_kernel_is_scheduled_where_it_is_called(device):
    a, b = normal(100, 64), normal(64, 50)
    kernel = tile2triton.kernel(product).scheduled(Schedule(tile={"m": 16}))
    check(kernel, [a, b], (a.double() @ b.double()).relu(), device)
    assert "block_M = 16\n" in kernel.compile(a, b).triton_source


def test_a_kernel_with_a_grid_of_its_own_is_scheduled_too():
    schedule = Schedule(tile={"block_M": 64, "block_N": 64}, warps=4, pipeline=2, swizzle=4)
    kernel = explicit_gemm.scheduled(schedule)
    text = kernel.compile(M=512, N=512, K=512).after("apply_schedule")
    assert "block_M = 64\n" in text
    assert "threads=128" in text
    assert "num_stages=2" in text
    assert "T.use_swizzle(4)" in text
    for wrong, code in (({"recompute": True}, "T2T877"), ({"tile": {"block_Q": 16}}, "T2T876")):
        refused = explicit_gemm.scheduled(Schedule(**wrong))
        with pytest.raises(TileError, match=code):
            refused.compile(M=512, N=512, K=512)


def test_stacked_annotations_must_not_differ():
    def twice():
        @T.warps(8)
        @T.parallel(block=(128, 1))
        def function(A):
            return A

    assert code_of(twice) == "T2T871"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: T.parallel(block=(100, 1)), "T2T870"),
        (lambda: T.warps(3), "T2T870"),
        (lambda: T.tile(m=48), "T2T870"),
        (lambda: T.tile(), "T2T870"),
        (lambda: T.pipeline(0), "T2T870"),
        (lambda: T.pipeline(stages=2), "T2T870"),
        (lambda: T.vectorize(width=3), "T2T870"),
        (lambda: T.swizzle(0), "T2T870"),
        (lambda: T.persistent(0), "T2T870"),
        (lambda: T.split("k", 1), "T2T870"),
        (lambda: T.warps(4)("text"), "T2T872"),
        (lambda: Schedule().on("cuda:12"), "T2T873"),
        (lambda: Schedule(tiles={"m": 16}), "T2T874"),
        (lambda: Schedule.read("nowhere.toml"), "T2T875"),
    ],
)
def test_wrong_annotations_are_refused_at_their_line(make, code):
    assert code_of(make) == code


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        (Schedule(tile={"q": 16}), "T2T876"),
        (Schedule(split=("m", 2)), "T2T878"),
    ],
)
def test_schedules_name_extents_that_the_program_has(schedule, code):
    kernel = tile2triton.kernel(schedule=schedule)(product)
    operands = T.Tensor((512, 64), "float16"), T.Tensor((64, 512), "float16")
    assert code_of(lambda: kernel.compile(*operands)) == code


def doubled(X):
    return X * 2


def total(X):
    return T.sum(X)


def states(a, b):
    return T.linear_scan(a, b, axis=-2)


@pytest.mark.parametrize(
    ("function", "schedule", "shapes", "code"),
    [
        (doubled, Schedule(pipeline=3), [(64, 64)], "T2T840"),
        (doubled, Schedule(swizzle=8), [(64,)], "T2T840"),
        (doubled, Schedule(recompute=True), [(64, 64)], "T2T840"),
        (doubled, Schedule(split=("N", 2)), [(64, 64)], "T2T878"),
        (product, Schedule(recompute=True), [(64, 64), (64, 32)], "T2T840"),
        (product, Schedule(tile={"b_2": 2}), [(2, 64, 64), (64, 32)], "T2T840"),
        (total, Schedule(persistent=True), [(64,)], "T2T840"),
        (states, Schedule(recompute=True), [(64, 64), (64, 64)], "T2T840"),
        (states, Schedule(split=("L", 2)), [(64, 64), (64, 64)], "T2T878"),
        (states, Schedule(tile={"q": 16}), [(64, 64), (64, 64)], "T2T876"),
        (states, Schedule(swizzle=4), [(64, 64), (64, 64)], "T2T840"),
    ],
)
def test_annotations_that_change_nothing_are_refused(function, schedule, shapes, code):
    kernel = tile2triton.kernel(schedule=schedule)(function)
    operands = [T.Tensor(shape, "float16") for shape in shapes]
    assert code_of(lambda: kernel.compile(*operands)) == code


def test_extents_of_one_do_not_make_a_schedule_wrong(device):
    kernel = tile2triton.kernel(schedule=Schedule(tile={"m": 64, "n": 32}, swizzle=8))(product)
    a, b = normal(1, 40), normal(40, 50)
    check(kernel, [a, b], (a.double() @ b.double()).relu(), device)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(persistent=3, vectorize=2),
        Schedule(persistent=2, swizzle=2, tile={"L": 8}),
        Schedule(vectorize=4, warps=2, tile={"L": 16}),
    ],
    ids=repr,
)
def test_every_schedule_of_a_scan_gives_the_same(schedule, device, poisoned):
    @tile2triton.kernel(schedule=schedule)
    def rolled(a: T.Tensor["B L D"], b: T.Tensor["B L D"]):
        h = T.linear_scan(a, b, axis=-2)
        return h, T.sum(h, axis=-2)

    a, b = normal(3, 21, 70, dtype=torch.float32).sigmoid(), normal(3, 21, 70, dtype=torch.float32)
    h = recurrence(a, b, 0.0, 1)
    check(rolled, [a, b], (h, h.sum(1)), device)


def test_scans_follow_their_template_and_letters():
    columns = T.Tensor((2, 256, 512), "float16")
    kernel = tile2triton.kernel(states)
    for target, block, threads in (("cuda:90", 64, 32), ("hip:gfx942", 64, 64)):
        program = tile2triton.transpile(kernel, columns, columns, target=target).after(
            "tile_operands"
        )
        assert f"block_N = {block}\n" in program
        assert f"threads={threads}" in program
    program = tiled(kernel.scheduled(Schedule(tile={"c": 32})), *[(2, 256, 512)] * 2)
    assert "block_N = 32\n" in program
    assert "in T.Pipelined(L, num_stages=4)" in program
    program = tiled(kernel.scheduled(Schedule(tile={"t": 32})), *[(2, 256, 512)] * 2)
    assert "block_L = 32\n" in program
    assert "T.linear_scan(" in program


def test_a_row_that_would_be_held_whole_is_run_over_in_tiles(device, poisoned):
    def softmax_and_sum(X: T.Tensor["M N"]):
        return T.softmax(X), T.sum(X, axis=0)

    x = normal(20, 100, dtype=torch.float32)
    wanted = x.double().softmax(-1), x.double().sum(0)
    kernel = tile2triton.kernel(schedule=Schedule(tile={"N": 32}))(softmax_and_sum)
    check(kernel, [x], wanted, device)
    assert "block_N = 32\n" in kernel.compile(x).triton_source


def test_products_are_computed_again_only_where_that_is_said():
    def two_layers(X, W, V):
        return T.gemm(T.relu(T.gemm(X, W, transpose_B=False)), V, transpose_B=False)

    wide = T.Tensor((64, 1024), "float16")
    operands = T.Tensor((128, 64), "float16"), wide, T.Tensor((1024, 1024), "float16")
    kernel = tile2triton.kernel(two_layers)
    assert code_of(lambda: kernel.compile(*operands)) == "T2T810"
    again = kernel.scheduled(Schedule(recompute=True))
    x, w, v = normal(32, 64), normal(64, 600) / 8, normal(600, 700) / 24
    made = again(x, w, v).double()
    wanted = (x.double() @ w.double()).relu() @ v.double()
    assert (made - wanted).norm() / wanted.norm() < 2e-3


def test_a_person_adds_a_schedule_by_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TILE2TRITON_SCHEDULES", str(tmp_path / "own"))
    operands = T.Tensor((512, 64), "float16"), T.Tensor((64, 512), "float16")
    before = tile2triton.kernel(product).compile(*operands).triton_source
    path = Schedule("gemm", tile={"m": 64, "n": 32, "k": 32}, warps=2).write(tmp_path / "gemm.toml")
    assert main(["schedule", "add", str(path)]) == 0
    assert main(["schedule", "list"]) == 0
    assert str(tmp_path / "own" / "gemm.toml") in capsys.readouterr().out
    assert main(["schedule", "show", "gemm"]) == 0
    assert capsys.readouterr().out == path.read_text()
    after = tile2triton.kernel(product).compile(*operands).triton_source
    assert "block_M = 128\n" in before
    assert "block_M = 64\n" in after
    assert main(["schedule", "show", "gemmm"]) == 2
    assert main(["schedule", "add", "nowhere.toml"]) == 2


def test_vector_width_sets_the_tiles_of_what_is_element_by_element():
    def scaled(X):
        return X * 2

    for width in (1, 8):
        kernel = tile2triton.kernel(schedule=Schedule(vectorize=width, warps=4))(scaled)
        assert f"block_N = {128 * width}\n" in tiled(kernel, (4096,))


def test_shipped_schedules_are_right_on_every_chip():
    from tile2triton.schedule.library import SHIPPED
    from tile2triton.targets import TARGETS

    for path in SHIPPED.glob("*.toml"):
        schedule = Schedule.read(path)
        assert schedule.name == path.stem
        for target in TARGETS:
            assert math.log2(schedule.for_target(target.name).threads or 32).is_integer()
