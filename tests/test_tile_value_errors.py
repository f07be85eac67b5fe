"""What is said where tiles are used as values that they are not."""

import pytest

import tile2triton
import tile2triton.language as T
from tile2triton import TileError


def rebound(x, A):
    for _ in T.serial(2):
        x = x + 1.0


def unequal(x, A):
    x *= T.arange(12)


def unequal_store(x, A):
    x[0:4] = x


def in_parallel(x, A):
    for i in T.Parallel(16):
        y = x + 1.0
        x[i] = y[i]


def late(x, A):
    def clears(tile):
        value = tile + 1.0
        T.clear(tile)
        return value

    T.copy(clears(x), A)


def late_part(x, A):
    values = []
    values.append(x + 1.0)
    T.clear(x)
    T.copy(values[0] * 2.0, A)


def late_variable(x, A):
    number = T.alloc_var("float32", 2.0)
    values = []
    values.append(x * number)
    number = 3.0
    T.copy(values[0], A)


def late_result(x, A):
    values = []
    values.append(T.copy(x))
    first = values[0]
    values.append(values[0] + 1.0)
    first *= 2.0
    T.copy(values[1], A)


def in_a_loop(x, A):
    values = []
    values.append(x * 2.0)
    for _ in T.serial(2):
        T.copy(values[0], A)
        x += 1.0


def unused(x, A):
    T.reduce_sum(x, dim=0)


def computed_destination(x, A):
    T.cumsum(x + 1.0)


def view_as_destination(x, A):
    x[:, None] = 1.0


def start_alone(x, A):
    x += T.copy(A[3])


def unknown_extent(x, A):
    for k in T.serial(2):
        x += T.copy(A[k:16])


def sum_of_all(x, A):
    y = T.copy(A[:])[:, None] * x
    x += T.sum(y)


def mean(x, A):
    x -= T.mean(x, axis=0)


def tensor(x, A):
    x += A


def store_in_parallel(x, A):
    for i in T.Parallel(16):
        x[0:4] = 1.0
        A[i] = x[i]


def result_in_parallel(x, A):
    for i in T.Parallel(16):
        A[i] = T.copy(x)[i]


def whole_index(x, A):
    x += x[T.arange(16) + T.cast(x, "int32")]


def condition(x, A):
    if x > 0:
        T.clear(x)


def both_conditions(x, A):
    x += T.where(x > 0 and x < 1, 1.0, 2.0)


def power(x, A):
    x += x**2


def accumulates(x, A):
    x += T.reduce_sum(x, dim=0, clear=False)[0]


ERRORS = {
    "T2T121": (rebound,),
    "T2T141": (unequal, unequal_store),
    "T2T143": (in_parallel, store_in_parallel, result_in_parallel, whole_index),
    "T2T144": (late, late_part, late_variable, late_result, in_a_loop),
    "T2T145": (unused,),
    "T2T146": (computed_destination, view_as_destination),
    "T2T280": (start_alone, unknown_extent),
    "T2T231": (sum_of_all,),
    "T2T804": (mean,),
    "T2T137": (tensor,),
    "T2T136": (condition, both_conditions),
    "T2T132": (power,),
    "T2T160": (accumulates,),
}


@pytest.mark.parametrize(
    ("code", "body"),
    [(code, body) for code, bodies in ERRORS.items() for body in bodies],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_what_is_no_tile_is_an_error_at_its_line(code, body):
    inner = T.macro(body)

    @T.prim_func
    def kernel(A: T.Tensor((16,), T.float32)):
        with T.Kernel(1, threads=64):
            x = T.copy(A[:])
            inner(x, A)

    with pytest.raises(TileError) as raised:
        tile2triton.compile(kernel)
    (problem,) = raised.value.diagnostics
    first = body.__code__.co_firstlineno
    assert problem.code == code
    assert first < problem.line <= first + 7
