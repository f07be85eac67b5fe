"""`break`, `continue`, `return` and `while`: three meanings, and Python's own."""

import random
import textwrap

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel
from tests.three_meanings import agree

N = 48


class Loops:
    """Random programs of nested loops and branches with jumps, in the words of both languages."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0
        self.budget = 14

    def block(self, depth, variables):
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, variables)
        return lines

    def statement(self, depth, variables):
        self.budget -= 1
        kinds = ["store", "count"]
        if depth < 4 and self.budget > 0:
            kinds += ["if", "if", "else", "for", "while"]
        if self.loops:
            kinds += ["break", "continue"]
        kind = self.random.choice(kinds + (["return"] if self.random.random() < 0.1 else []))
        if kind == "store":
            return [f"C[{self.index(variables)}] += {self.random.randint(1, 9)}"]
        if kind == "count":
            return [f"x = (x * 3 + {self.number(variables)}) % 101"]
        if kind == "if":
            return [f"if {self.test(variables)}:", *self.inside(depth, variables)]
        if kind == "else":
            head = [f"if {self.test(variables)}:", *self.inside(depth, variables)]
            return [*head, "else:", *self.inside(depth, variables)]
        if kind in ("for", "while"):
            return self.loop(kind, depth, variables)
        return [kind]

    def loop(self, kind, depth, variables):
        self.loops += 1
        name = f"v{len(variables)}{self.budget + 100}"
        if kind == "for":
            bounds = self.random.choice(["5", "1, 6", "0, 7, 2", "6, -1, -2", "x % 5"])
            loop = [f"for {name} in T.serial({bounds}):"]
            loop += self.inside(depth, [*variables, name])
        else:
            # Every second `while` ends with a jump only.
            test = self.random.choice(["True", f"y < {self.random.randint(3, 40)}"])
            body = ["y = y + 1", "if y > 60:", "    break"]
            loop = [f"while {test}:", *("    " + line for line in body)]
            loop += self.inside(depth, variables)
        self.loops -= 1
        return loop

    def inside(self, depth, variables):
        return ["    " + line for line in self.block(depth + 1, variables)]

    def number(self, variables):
        return self.random.choice([*variables, "x", "y", f"A[{self.index(variables)}]"])

    def index(self, variables):
        return f"({self.random.choice([*variables, 'x', '7'])} + {self.random.randint(0, 9)}) % {N}"

    def test(self, variables):
        sign = self.random.choice(["<", "==", ">", "!="])
        return f"{self.number(variables)} {sign} {self.random.randint(0, 50)}"


def meant_by_python(body, array):
    """What the body does to C where Python itself runs it."""
    text = "def run(A, C, x, y, T):\n" + textwrap.indent("\n".join(body), "    ")

    class Serial:
        serial = range

    scope = {}
    exec(text, scope)
    result = np.zeros(N, np.int32)
    scope["run"](array, result, 1, 0, Serial)
    return result


def program_of(body):
    return f"""
def main(A: T.Tensor(({N},), "int32"), C: T.Tensor(({N},), "int32")):
    with T.Kernel(1, threads=128) as bx:
        x = T.alloc_var("int32", 1)
        y = T.alloc_var("int32", 0)
{textwrap.indent(chr(10).join(body), " " * 8)}
"""


@pytest.mark.parametrize("seed", range(60))
def test_random_jumps_do_what_python_does(seed, device):
    body = Loops(seed).block(0, [])
    array = np.random.default_rng(seed).integers(0, 60, N).astype(np.int32)
    result = torch.zeros(N, dtype=torch.int32)
    arrays = [torch.from_numpy(array), result]
    outcome = agree(program_of(body), arrays, device, outputs=())
    assert np.array_equal(outcome.triton[1].numpy(), meant_by_python(body, array))


@pytest.mark.parametrize("extent", [8, 13])
def test_each_iteration_of_parallel_jumps_by_itself(extent, device):
    program = f"""
    def main(A: T.Tensor(({extent},), "int32"), C: T.Tensor(({extent},), "int32")):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel({extent}):
                x = T.alloc_var("int32", 0)
                for k in T.serial(6):
                    if k == A[i]:
                        continue
                    if k + i > 9:
                        break
                    x = x + k
                if x == 10:
                    continue
                C[i] = x + 1
    """
    a = torch.arange(extent, dtype=torch.int32) % 5
    c = torch.full((extent,), -1, dtype=torch.int32)
    outcome = agree(program, [a, c], device, outputs=())
    expected = []
    for i in range(extent):
        total = sum(k for k in range(6) if k != int(a[i]) and k + i <= 9)
        expected.append(-1 if total == 10 else total + 1)
    assert outcome.triton[1].tolist() == expected


def test_pipelined_loop_ends_at_a_break(device):
    @tile2triton.kernel
    def first_negative(A, C, block: int):
        n = T.dynamic("n")
        A: T.Tensor((n,), "float32")
        C: T.Tensor((2,), "float32")
        with T.Kernel(1):
            tile = T.alloc_shared((block,), "float32")
            least = T.alloc_fragment((1,), "float32")
            C[1] = 0.0
            for k in T.Pipelined(T.ceildiv(n, block), num_stages=2):
                T.copy(A[k * block], tile)
                T.reduce_min(tile, least, dim=0)
                if least[0] < 0.0:
                    C[0] = k
                    break
                C[1] += 1.0

    a = torch.rand(100)
    a[70] = -1.0
    _, c = run_kernel(first_negative, [a, torch.full((2,), -5.0)], device, block=16)
    assert c.tolist() == [4.0, 4.0]
    text = first_negative.compile(block=16).triton_source
    assert "# Without num_stages=2: Triton pipelines no loop that a jump may leave." in text


def test_condition_of_a_while_is_computed_in_every_turn(device):
    @tile2triton.kernel
    def collatz(A, C):
        A: T.Tensor((8,), "int32")
        C: T.Tensor((8,), "int32")
        with T.Kernel(8) as bx:
            C[bx] = 0
            while A[bx] % 2 == 0 or A[bx] > 1:
                if A[bx] % 2 == 0:
                    A[bx] = A[bx] // 2
                else:
                    A[bx] = 3 * A[bx] + 1
                C[bx] += 1

    numbers = torch.tensor([1, 2, 3, 7, 6, 9, 1, 16], dtype=torch.int32)
    _, c = run_kernel(collatz, [numbers, torch.zeros(8, dtype=torch.int32)], device)
    assert c.tolist() == [0, 1, 7, 16, 8, 19, 0, 4]


def test_calls_jump_as_the_words_do(device):
    @tile2triton.kernel
    def calls(C):
        C: T.Tensor((8,), "int32")
        with T.Kernel(2) as bx:
            if bx == 1:
                T.thread_return()
            for k in range(8):
                if k == 2:
                    T.continue_loop()
                if k == 4:
                    T.loop_break()
                C[k] = 1
            for k in range(4, 8):
                if k == 6:
                    T.break_loop()
                C[k] = 2

    (c,) = run_kernel(calls, [torch.zeros(8, dtype=torch.int32)], device)
    assert c.tolist() == [1, 1, 0, 1, 2, 2, 0, 0]


def test_program_may_return_early(device):
    @tile2triton.kernel
    def early(C):
        n = T.dynamic("n")
        C: T.Tensor((n,), "int32")
        with T.Kernel(n) as bx:
            if bx % 3 == 0:
                return
            for k in range(4):
                if k == bx:
                    C[bx] = 100
                    return
            C[bx] = bx

    (c,) = run_kernel(early, [torch.full((10,), -1, dtype=torch.int32)], device)
    assert c.tolist() == [-1, 100, 100, -1, 4, 5, -1, 7, 8, -1]


def test_condition_of_a_while_may_take_statements(device):
    @T.macro
    def below(x, limit):
        square = x * x
        return square < limit

    @tile2triton.kernel
    def root(C):
        C: T.Tensor((10,), "int32")
        with T.Kernel(10) as bx:
            x = T.alloc_var("int32")
            while below(x, bx * 10):
                x += 1
            C[bx] = x

    (c,) = run_kernel(root, [torch.zeros(10, dtype=torch.int32)], device)
    assert c.tolist() == [int(np.ceil(np.sqrt(10 * b))) for b in range(10)]


def test_dead_statements_are_dropped():
    @tile2triton.kernel
    def dead(C):
        C: T.Tensor((4,), "int32")
        with T.Kernel(1):
            for k in range(4):
                C[k] = 1
                continue
                C[k] = 2

    text = dead.compile().triton_source
    assert "proceed" not in text
    assert ", 2)" not in text
