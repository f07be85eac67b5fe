"""Each statement and expression of Python, in a kernel, becomes what it means."""

# Kernels are written as their users write them.
# ruff: noqa: B905, SIM201

import dataclasses

import pytest

import tile2triton.language as T
from tests.frontend_programs import body_of, errors_of, marked, text_of

N = 64
OFFSET = 3


def test_let_is_evaluated_where_it_stands():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            x = A[bx]
            A[bx] = 0.0
            B[bx] = x

    assert body_of(main) == "x = A[bx]\nA[bx] = 0.0\nB[bx] = x\n"


def test_second_let_of_a_name_gets_another_name():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            x = A[bx]
            x = x + 1
            A[bx] = x

    assert body_of(main) == "x = A[bx]\nx_1 = x + 1\nA[bx] = x_1\n"


def test_alias_of_a_let_is_no_statement():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            row = bx
            A[row] = A[row + OFFSET]

    assert body_of(main) == "A[bx] = A[bx + OFFSET]\n"


def test_variable_is_stored_to_and_read_where_it_is_used():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            total = T.alloc_var("float32")
            count = T.alloc_var(T.int32, init=0)
            for k in range(N):
                total += A[k]
                count = count + 1
            before = total
            total = 0
            A[0] = before / T.cast(count, "float32")

    assert (
        body_of(main)
        == """\
total = T.alloc_var("float32")
count = T.alloc_var("int32", 0)
for k in T.serial(N):
    total = total + A[k]
    count = count + 1
before = total
total = 0
A[0] = before / T.cast(count, "float32")
"""
    )


def test_tuple_assignment_reads_everything_first():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            a = T.alloc_var("float32", A[0])
            b = T.alloc_var("float32", A[1])
            a, b = b, a
            A[0], A[1] = A[1], A[0]

    assert (
        body_of(main)
        == """\
a = T.alloc_var("float32", A[0])
b = T.alloc_var("float32", A[1])
a_next = b
b_next = a
a = a_next
b = b_next
element_next = A[1]
element_next_1 = A[0]
A[0] = element_next
A[1] = element_next_1
"""
    )


def test_chained_targets_get_one_evaluation():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            x = y = A[0] * 2
            A[1] = x + y

    assert body_of(main) == "x = A[0] * 2\nA[1] = x + x\n"


def test_shape_is_taken_apart():
    @T.prim_func
    def main(A: T.Tensor((N, 2 * N), "float32")):
        with T.Kernel(1):
            rows, columns = A.shape
            A[rows - 1, columns - 1] = T.cast(len(A.shape), A.dtype)

    assert body_of(main) == 'A[N - 1, 2 * N - 1] = T.cast(2, "float32")\n'


def test_annotated_let_casts():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1) as bx:
            a: T.float32 = bx
            b: T.int32 = bx
            c: whatever = A[0]  # noqa: F821
            A[b] = a + c

    assert body_of(main) == 'a = T.cast(bx, "float32")\nc = A[0]\nA[bx] = a + c\n'


def test_branch_at_run_time_keeps_both_sides():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            if bx < 4:
                A[bx] = 1.0
            elif bx == 5:
                A[bx] = 2.0
            else:
                x = A[bx]
                A[bx] = x * x

    assert (
        body_of(main)
        == """\
if bx < 4:
    A[bx] = 1.0
elif bx == 5:
    A[bx] = 2.0
else:
    x = A[bx]
    A[bx] = x * x
"""
    )


def test_second_side_of_a_branch_sees_the_names_of_before():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            x = 1
            if bx < 4:
                x = 2
                A[bx] = x
            else:
                A[bx] = x

    text = body_of(main)
    assert text == "if bx < 4:\n    A[bx] = x\nelse:\n    A[bx] = x_1\n"
    assert main.program().facts.constants == {"N": 64, "x": 2, "x_1": 1}


def test_branch_without_statements_disappears():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            if bx < 4:
                pass
            if bx < 5:
                pass
            else:
                A[bx] = 1.0

    assert body_of(main) == "if bx < 5:\n    pass\nelse:\n    A[bx] = 1.0\n"


def test_loops_of_every_kind():
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32"), n: T.int32):
        with T.Kernel(1) as bx:
            for k in range(2, n):
                A[k, 0] = 0.0
            for k in range(10, 0, -1):
                A[k, 0] = 0.0
            for k in T.serial(0, n, 2):
                A[k, 0] = 0.0
            for k in T.unroll(4):
                A[k, 0] = 0.0
            for k in T.Pipelined(start=bx, stop=n, num_stages=2):
                A[k, 0] = 0.0
            for i in T.Parallel(N):
                A[i, 0] = 0.0
            for i, j in T.Parallel(N, 8, coalesced_width=4):
                A[i, j] = 0.0

    headers = [line for line in body_of(main).splitlines() if line.startswith("for")]
    assert headers == [
        "for k in T.serial(2, n):",
        "for k in T.serial(10, 0, -1):",
        "for k in T.serial(0, n, 2):",
        "for k in T.unroll(4):",
        "for k in T.Pipelined(bx, n, num_stages=2):",
        "for i in T.Parallel(N):",
        "for i, j in T.Parallel(N, 8):",
    ]
    assert main.program().facts.hints == {"Parallel(coalesced_width)": 4}


def test_loops_that_run_alike_share_their_variable():
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(N, N):
                A[i, j] = 0.0
            for i, j in T.Parallel(N, 8):
                A[i, j] = 1.0
            for i, j in T.Parallel(N, N):
                A[i, j] = 2.0
            for i in range(4):
                for i in range(4):
                    A[i, i] = 3.0

    headers = [line.strip() for line in body_of(main).splitlines() if "for" in line]
    assert headers == [
        "for i, j in T.Parallel(N, N):",
        "for i, j_1 in T.Parallel(N, 8):",
        "for i, j in T.Parallel(N, N):",
        "for i_1 in T.serial(4):",
        "for i_2 in T.serial(4):",
    ]


def test_while_loops_on_a_variable():
    @T.prim_func
    def main(A: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            i = T.alloc_var("int32", 0)
            while i < N and A[i] > 0:
                i += 1
            A[0] = i

    assert "while i < N and A[i] > 0:\n    i = i + 1\nA[0] = i\n" in body_of(main)


def test_python_sequences_are_unrolled():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for at, value in enumerate([1.0, 2.0, 3.0]):
                if at == 2:
                    break
                A[at] = value
            for a, b in zip(range(2), [A[5], A[6]]):
                A[a + 7] = b

    assert body_of(main) == "A[0] = 1.0\nA[1] = 2.0\nA[7] = A[5]\nA[8] = A[6]\n"


def test_comprehensions_make_lists_of_tiles():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            parts = [T.alloc_fragment((8,), "float32") for _ in range(2)]
            for at in [0, 1]:
                T.copy(A[at * 8], parts[at])

    assert (
        body_of(main)
        == """\
parts_0 = T.alloc_fragment((8,), "float32")
parts_1 = T.alloc_fragment((8,), "float32")
T.copy(A[0], parts_0)
T.copy(A[8], parts_1)
"""
    )


def test_logic_is_static_as_far_as_it_can():
    flag = True

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            if flag and bx < 4 and not bx == 2:
                A[bx] = 1.0
            if flag or bx < 4:
                A[bx] = 2.0
            if not flag and A[100] > 0:
                A[bx] = 3.0
            if 0 <= bx < 8:
                A[bx] = 4.0

    assert (
        body_of(main)
        == """\
if bx < 4 and not bx == 2:
    A[bx] = 1.0
A[bx] = 2.0
if 0 <= bx and bx < 8:
    A[bx] = 4.0
"""
    )
    assert main.program().facts.settings == {"flag": "True"}


def test_conditional_expressions():
    flag = False

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            A[bx] = (A[bx] if bx < 4 else 0) + (1 if flag else 2)
            A[bx] = T.Select(bx > 3, 1.0, 2.0)

    assert (
        body_of(main)
        == """\
A[bx] = T.if_then_else(bx < 4, A[bx], 0) + 2
A[bx] = T.if_then_else(bx > 3, 1.0, 2.0)
"""
    )


def test_helpers_lambdas_and_objects_are_python():
    @dataclasses.dataclass
    class Row:
        base: object
        width: int

        def __getitem__(self, j):
            return self.base[j * self.width]

    def square(x):
        return x * x

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            row = Row(A, 4)
            halve = lambda x: x / 2  # noqa: E731

            def shift(x):
                return x + OFFSET

            A[bx] = shift(halve(square(row[bx])))

    assert body_of(main) == "A[bx] = A[bx * 4] * A[bx * 4] / 2 + OFFSET\n"


def test_regions_of_every_form():
    @T.prim_func
    def main(A: T.Tensor((2, N, 8, N), "float32")):
        with T.Kernel(2, 8) as (bx, by):
            tile = T.alloc_shared((16, N), "float32")
            T.copy(A[bx, 0:16, by, :], tile)
            T.copy(A[bx, 4, by, 0], tile)
            T.copy(A[bx], tile)
            T.copy(A[..., -1, :], tile)
            T.copy(tile[-1, :], A[bx, -3, by, 0])
            T.copy(A[bx][:-2], tile)
            T.fill(tile[0:4], 1)

    assert (
        body_of(main)
        == """\
tile = T.alloc_shared((16, N), "float32")
T.copy(A[bx, 0:16, by, :], tile)
T.copy(A[bx, 4, by, 0], tile)
T.copy(A[bx, :, :, :], tile)
T.copy(A[:, :, 7, :], tile)
T.copy(tile[15, :], A[bx, N - 3, by, 0])
T.copy(A[bx, : N - 2, :, :], tile)
T.fill(tile[0:4, :], 1)
"""
    )


def test_augmented_stores():
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(N, N):
                A[i, j] *= A[j, i]
                A[i, j] -= 1

    assert "    A[i, j] *= A[j, i]\n    A[i, j] -= 1\n" in body_of(main)


def test_casts_and_constants_of_types():
    @T.prim_func
    def main(A: T.Tensor((N,), "float16")):
        with T.Kernel(N) as bx:
            x = T.float32(A[bx]) + A[bx].astype("float") + T.Cast("half", bx)
            A[bx] = T.max(x, -T.infinity(A.dtype))
            if A.dtype == "float16" and T.float16.bits == 16:
                A[0] = 0

    assert (
        body_of(main)
        == """\
x = T.cast(A[bx], "float32") + T.cast(A[bx], "float32") + T.cast(bx, "float16")
A[bx] = T.max(x, -T.infinity("float16"))
A[0] = 0
"""
    )


def test_torch_types_are_element_types():
    torch = pytest.importorskip("torch")

    @T.prim_func
    def main(A: T.Tensor((N,), torch.bfloat16)):
        with T.Kernel(1):
            tile = T.alloc_shared((N,), torch.float16)
            T.copy(A, tile)

    assert 'tile = T.alloc_shared((N,), "float16")' in body_of(main)
    assert main.program().facts.tensors["A"].dtype == "bfloat16"


def test_names_that_clash_are_renamed():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), range: T.int32):
        with T.Kernel(N) as tl:
            max = A[tl] * range
            main = max + 1
            A[tl] = main

    assert body_of(main) == "max_ = A[tl_] * range_\nmain_1 = max_ + 1\nA[tl_] = main_1\n"


def test_the_order_of_the_blocks_stays_in_the_tree():
    @T.prim_func
    def main(A: T.Tensor((N, N), "float32")):
        with T.Kernel(N, N) as (bx, by):
            T.use_swizzle(10)
            A[by, bx] = 0

    assert body_of(main) == "T.use_swizzle(10)\nA[by, bx] = 0\n"


def test_hints_are_kept_beside_the_tree():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N, threads=(32, 4)) as bx:
            tile = T.alloc_shared((N,), "float32")
            # About the layout.
            T.annotate_layout({tile: object})
            A[bx] = 0

    assert body_of(main) == 'tile = T.alloc_shared((N,), "float32")\nA[bx] = 0\n'
    assert "tile" in main.program().facts.hints["annotate_layout"]["layout_map"]


def test_print_and_assert_run_while_tracing(capsys):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            assert N % 8 == 0
            print("index", bx + 1)
            A[bx] = 0

    main.program()
    assert capsys.readouterr().out == "index bx + 1\n"


def test_failed_assertion_points_at_its_line():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            assert N == 3, f"N must be 3, not {N}"
            A[bx] = 0

    (error,) = errors_of(main)
    assert error.message == "AssertionError: N must be 3, not 64"
    assert "N == 3" in marked(error)


def test_layouts_are_objects_that_change_nothing():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            tile = T.alloc_shared((N,), "float32")
            T.annotate_layout({tile: T.Layout(tile.shape, lambda i: [i // 8, i % 8])})
            A[bx] = 0

    assert body_of(main) == 'tile = T.alloc_shared((N,), "float32")\nA[bx] = 0\n'


def test_kernel_without_extents_is_one_program():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(threads=32):
            A[0] = 0

    assert body_of(main) == "A[0] = 0\n"
    assert "with T.Kernel(1, threads=32) as bx:" in text_of(main.program())
