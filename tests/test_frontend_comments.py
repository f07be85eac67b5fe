"""Comments and blank lines stay where the user put them."""

import tile2triton.language as T
from tests.frontend_programs import body_of

N = 8


def test_comments_stand_before_what_follows_them():
    flag = True

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            # First of the block,
            # in two lines.
            x = A[bx]  # beside
            offset = 3
            # Before static code goes to the next statement.
            y = offset * 2

            A[bx] = x + y  # type: ignore
            for k in range(4):  # header
                # inside
                A[k] = 0
                # last of the loop
            # after the loop

            T.copy(
                A,  # an argument
                A,
            )
            if flag:
                # of the branch that is taken
                A[0] = 1
            else:
                # of the branch that is not
                A[0] = 2
            # the end

    assert (
        body_of(main)
        == """\
# First of the block,
# in two lines.
# beside
x = A[bx]

# Before static code goes to the next statement.
A[bx] = x + offset * 2
# header
for k in T.serial(4):
    # inside
    A[k] = 0
    # last of the loop
# after the loop

# an argument
T.copy(A, A)
# of the branch that is taken
A[0] = 1
# the end
"""
    )


def test_unrolled_loop_says_its_comment_once():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for at in [0, 1]:
                # Each of them.
                A[at] = 0

    assert body_of(main) == "# Each of them.\nA[0] = 0\nA[1] = 0\n"


def test_comments_of_both_sides_of_a_branch():
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            # Above.
            if bx > 0:
                A[bx] = 0  # positive
            else:  # otherwise
                # zero
                A[bx] = 1

    assert (
        body_of(main)
        == """\
# Above.
if bx > 0:
    # positive
    A[bx] = 0
else:
    # otherwise
    # zero
    A[bx] = 1
"""
    )
