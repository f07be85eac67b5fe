"""Persistent kernels: which program computes which tile, in what order."""

import math

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel
from tile2triton.frontend.schedulers import BaseTileScheduler, PersistentTileScheduler


@tile2triton.kernel
def persistent(A, programs: int, group: int):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "int32")
    with T.Kernel(programs) as b:
        turn = T.alloc_var("int32")
        for bx, by in T.Persistent([M, N], programs, b, group):
            A[bx, by] += 100 * turn + b + 1
            turn += 1


@tile2triton.kernel
def persistent_over_run_time_sizes(A, programs: int, group: int):
    M, N = T.dynamic("M, N")
    A: T.Tensor((M, N), "int32")
    with T.Kernel(programs) as b:
        turn = T.alloc_var("int32")
        for bx, by in T.Persistent([M, N], programs, b, group):
            A[bx, by] += 100 * turn + b + 1
            turn += 1


def tiles_of_program(m, n, programs, group, program):
    """The tiles in their order: groups of columns, down the rows, across the group."""
    group = max(1, min(group, n))
    for number in range(program, math.ceil(n / group) * group * m, programs):
        rest, lane = divmod(number, group)
        column = rest // m * group + lane
        if column < n:
            yield rest % m, column


@pytest.mark.parametrize("form", [persistent, persistent_over_run_time_sizes], ids=["const", "dyn"])
@pytest.mark.parametrize(
    ("m", "n", "programs", "group"),
    [(4, 16, 4, 8), (5, 13, 4, 8), (3, 2, 7, 8), (6, 9, 1, 4), (7, 5, 5, 1), (1, 1, 4, 8)],
)
def test_persistent_visits_every_tile_in_order(form, m, n, programs, group, device):
    sizes = {"M": m, "N": n} if form is persistent else {}
    zeros = torch.zeros(m, n, dtype=torch.int32)
    (a,) = run_kernel(form, [zeros], device, programs=programs, group=group, **sizes)
    expected = torch.zeros(m, n, dtype=torch.int32)
    for program in range(programs):
        tiles = tiles_of_program(m, n, programs, group, program)
        for turn, place in enumerate(tiles):
            expected[place] += 100 * turn + program + 1
    assert torch.equal(a, expected)


def test_persistent_over_three_dimensions(device):
    @tile2triton.kernel
    def three(A):
        A: T.Tensor((3, 4, 5), "int32")
        with T.Kernel(7) as b:
            for x, y, z in T.Persistent([3, 4, 5], 7, b, 2):
                A[x, y, z] += b + 1

    (a,) = run_kernel(three, [torch.zeros(3, 4, 5, dtype=torch.int32)], device)
    assert torch.equal(a > 0, torch.ones(3, 4, 5, dtype=torch.bool))
    assert a[0, 0, :2].tolist() == [1, 2]
    # The last of the outer dimensions varies fastest after the group.
    assert a[0, 1, :2].tolist() == [3, 4]


def test_persistent_with_a_wave_size_of_run_time(device):
    @tile2triton.kernel
    def waves(A, programs: T.int32):
        A: T.Tensor((6, 7), "int32")
        with T.Kernel(programs) as b:
            for bx, by in T.Persistent([6, 7], programs, b):
                A[bx, by] += b + 1

    (a,) = run_kernel(waves, [torch.zeros(6, 7, dtype=torch.int32), 5], device)
    assert torch.equal(a.flatten().sort().values, (torch.arange(42) % 5 + 1).sort().values.int())


@tile2triton.kernel
def scheduled(A, programs: int, swizzle: int, column_major: bool):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "int32")
    with T.Kernel(programs) as b:
        sched = T.PersistentTileScheduler(
            M,
            N,
            num_workers=programs,
            swizzle_size=swizzle,
            column_major=column_major,
            name="sched",
        )
        sched.init(b)
        while sched.valid():
            bx, by = sched.m_idx, sched.n_idx
            A[bx, by] += 100 * sched.current_iter + b + 1
            sched.next_tile()


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize(
    ("m", "n", "programs", "swizzle"), [(4, 8, 4, 2), (5, 7, 3, 3), (5, 7, 64, 1), (3, 3, 2, 8)]
)
def test_scheduler_walks_through_panels(m, n, programs, swizzle, column_major, device):
    zeros = torch.zeros(m, n, dtype=torch.int32)
    statics = {"programs": programs, "swizzle": swizzle, "column_major": column_major}
    (a,) = run_kernel(scheduled, [zeros], device, M=m, N=n, **statics)
    length, width = (m, n) if column_major else (n, m)
    order = [
        (along, first + lane)
        for first in range(0, width, swizzle)
        for along in range(length)
        for lane in range(min(swizzle, width - first))
    ]
    expected = torch.zeros(m, n, dtype=torch.int32)
    for number, (along, across) in enumerate(order):
        turn, program = divmod(number, programs)
        place = (along, across) if column_major else (across, along)
        expected[place] = 100 * turn + program + 1
    assert torch.equal(a, expected)


def test_state_is_named_after_the_scheduler():
    text = scheduled.compile(M=4, N=4, programs=2, swizzle=1, column_major=True).triton_source
    assert "while sched_linear_idx < M * N:" in text
    assert "sched_current_iter = sched_current_iter + 1" in text


def test_coordinates_without_state(device):
    @tile2triton.kernel
    def stateless(A):
        A: T.Tensor((6, 5), "int32")
        with T.Kernel(4) as b:
            sched = T.PersistentTileScheduler(
                6, 5, num_workers=4, cluster_size=2, swizzle_size=2, stateful=False
            )
            for w in range(4):
                bx, by = sched.coord(w * 4 + b)
                A[bx * 2, by] = w * 4 + b

    (a,) = run_kernel(stateless, [torch.full((6, 5), -1, dtype=torch.int32)], device)
    assert a[::2].tolist() == [[0, 1, 6, 7, 12], [2, 3, 8, 9, 13], [4, 5, 10, 11, 14]]
    assert (a[1::2] == -1).all()


@T.meta_class
class Diagonals(BaseTileScheduler):
    """Tiles along diagonals; written as users write it."""

    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.size = size
        self._total_tiles = size * size
        self.skipped = T.alloc_var(T.int32)

    def update_current_idx(self, linear_idx):
        row = linear_idx % self.size
        self._m_idx[0] = row
        if row == 0:
            self.skipped += 1
            self._n_idx[0] = linear_idx // self.size
        else:
            self._n_idx[0] = (linear_idx // self.size + row) % self.size


def test_user_writes_a_scheduler_of_their_own(device):
    @tile2triton.kernel
    def diagonal(A, C):
        A: T.Tensor((5, 5), "int32")
        C: T.Tensor((2,), "int32")
        with T.Kernel(2) as b:
            sched = Diagonals(5, name="walk")
            sched.init(b)
            while sched.valid():
                A[sched.m_idx, sched.n_idx] = sched.linear_idx
                sched.next_tile(2)
            C[b] = sched.skipped

    zeros = torch.zeros(5, 5, dtype=torch.int32)
    a, c = run_kernel(diagonal, [zeros, torch.zeros(2, dtype=torch.int32)], device)
    expected = [[(n - m) % 5 * 5 + m for n in range(5)] for m in range(5)]
    assert a.tolist() == expected
    assert c.tolist() == [3, 3]


def test_base_scheduler_needs_a_walk():
    @tile2triton.kernel
    def base(A):
        A: T.Tensor((4,), "int32")
        with T.Kernel(1) as b:
            sched = T.BaseTileScheduler()
            sched.init(b)
            A[0] = sched.m_idx

    with pytest.raises(tile2triton.Error, match="update_current_idx"):
        base.compile()


def test_scheduler_has_a_program_for_each_multiprocessor(monkeypatch):
    class Properties:
        multi_processor_count = 132

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    assert PersistentTileScheduler(4, 4, cluster_size=2, stateful=False).num_workers == 66


def test_grid_without_names(device):
    @tile2triton.kernel
    def grid(A):
        A: T.Tensor((3, 4, 2), "int32")
        with T.Kernel(3, 4, 2):
            x, y, z = T.get_block_bindings()
            e = T.get_block_extents()
            assert T.get_block_extent() == 3
            A[x, y, T.get_block_binding(2)] = (x * e[1] + y) * e[2] + z

    (a,) = run_kernel(grid, [torch.zeros(3, 4, 2, dtype=torch.int32)], device)
    assert torch.equal(a.flatten(), torch.arange(24, dtype=torch.int32))
