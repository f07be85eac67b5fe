"""`T.macro` inlines functions with everything that a kernel may have."""

# Kernels are written as their users write them.
# ruff: noqa: RET504

import tile2triton.language as T
from tests.frontend_programs import body_of, errors_of

N = 64


def test_macro_is_traced_where_it_is_called_and_its_locals_are_renamed():
    @T.macro
    def add_to(tile, value, by=1.0):
        # The macro's own comment.
        total = value + by
        for i in T.Parallel(N):
            if total > 0:
                tile[i] = total

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            total = A[bx]
            tile = T.alloc_fragment((N,), "float32")
            add_to(tile, total * 2)
            add_to(tile, total, by=3.0)

    assert (
        body_of(main)
        == """\
total = A[bx]
tile = T.alloc_fragment((N,), "float32")
value = total * 2
# The macro's own comment.
total_1 = value + 1.0
for i in T.Parallel(N):
    if total_1 > 0:
        tile[i] = total_1
# The macro's own comment.
total_2 = total + 3.0
for i in T.Parallel(N):
    if total_2 > 0:
        tile[i] = total_2
"""
    )


def test_macro_returns_values():
    @T.macro
    def pair(x):
        y = x + 1.0
        return y, 2

    @T.macro
    def variable(x):
        counter = T.alloc_var(T.float32, init=x)
        return counter

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            a, b = pair(A[bx])
            c = variable(3.0)
            c += a
            A[b] = c

    assert (
        body_of(main)
        == """\
x = A[bx]
y = x + 1.0
counter = T.alloc_var("float32", 3.0)
counter = counter + y
A[b] = counter
"""
    )


def test_scalars_are_passed_by_value_and_references_are_not():
    @T.macro
    def by_value(x):
        x = x + 1
        return x

    @T.macro
    def by_reference(x: T.Ref, y: T.Var):
        x = 1
        y = x + 2  # noqa: F841

    @T.prim_func
    def main(A: T.Tensor((N,), "int32")):
        with T.Kernel(N) as bx:
            v = T.alloc_var("int32", 5)
            A[bx] = by_value(v)
            by_reference(v, A[3])

    assert (
        body_of(main)
        == """\
v = T.alloc_var("int32", 5)
x = v
x_1 = x + 1
A[bx] = x_1
v = 1
A[3] = v + 2
"""
    )


def test_reference_to_a_number_is_refused():
    @T.macro
    def by_reference(x: T.Ref):
        x = 1  # noqa: F841

    @T.prim_func
    def main(A: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            by_reference(7)

    (error,) = errors_of(main)
    assert error.code == "T2T169"


def test_methods_can_be_macros_that_keep_state():
    class Scheduler:
        def __init__(self, step):
            self.step = step

        @T.macro
        def init(self, start):
            self.current = T.alloc_var("int32", start)

        @T.macro
        def advance(self):
            self.current += self.step

    @T.prim_func
    def main(A: T.Tensor((N,), "int32")):
        with T.Kernel(1) as bx:
            schedule = Scheduler(4)
            schedule.init(bx)
            while schedule.current < N:
                A[schedule.current] = 0
                schedule.advance()

    assert (
        body_of(main)
        == """\
current = T.alloc_var("int32", bx)
while current < N:
    A[current] = 0
    current = current + 4
"""
    )


def test_macro_may_hold_the_kernel():
    @T.macro
    def copy_rows(A, B):
        rows, _ = A.shape
        with T.Kernel(rows) as bx:
            T.copy(A[bx, 0], B[bx, :])

    @T.prim_func
    def main(A: T.Tensor((N, 8), "float32"), B: T.Tensor((N, 8), "float32")):
        copy_rows(A, B)

    assert body_of(main) == "T.copy(A[bx, 0], B[bx, :])\n"
