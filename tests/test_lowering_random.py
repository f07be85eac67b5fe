"""Random element-wise programs over all types: the reference meaning and Triton agree."""

import random
import textwrap

import pytest
import torch

from rewrites.dtypes import BY_NAME, is_float, promoted
from tests.three_meanings import agree

SHAPE = (20, 24)
DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint32",
)
# Numbers that Triton types by what stands beside them.
LITERALS = (
    ("i", "int32"),
    ("j", "int32"),
    ("3", "int32"),
    ("-5", "int32"),
    ("1.5", "float32"),
    ("0.1", "float32"),
    ('T.cast(200, "int8")', "int8"),
    ('T.cast(-1, "uint32")', "uint32"),
    ('T.cast(0.1, "float16")', "float16"),
)
TILES = {f"t{n}": dtype for n, dtype in enumerate(DTYPES)}
SEEDS = range(60)


class Expressions:
    """Makes expressions whose value is defined: no division by 0, no float that leaves an int."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def tree(self, depth: int) -> tuple[str, str]:
        """An expression over `i` and `j` as text, and its type."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf()
        kind = self.random.choice(
            ["arithmetic"] * 4 + ["extreme", "choice", "cast", "whole", "bits"]
        )
        return getattr(self, kind)(depth - 1)

    def leaf(self) -> tuple[str, str]:
        if self.random.random() < 0.3:
            return self.random.choice(LITERALS)
        tile = self.random.choice(list(TILES))
        index = self.random.choice(["i, j", "i, j", "i, 3", "5, j"])
        return f"{tile}[{index}]", TILES[tile]

    def arithmetic(self, depth: int) -> tuple[str, str]:
        (a, left), (b, right) = self.tree(depth), self.tree(depth)
        return f"({a} {self.random.choice('+-*')} {b})", promoted(left, right)

    def extreme(self, depth: int) -> tuple[str, str]:
        (a, left), (b, right) = self.tree(depth), self.tree(depth)
        return f"T.{self.random.choice(['min', 'max'])}({a}, {b})", promoted(left, right)

    def choice(self, depth: int) -> tuple[str, str]:
        (a, left), (b, right) = self.tree(depth), self.tree(depth)
        (c, _), (d, _) = self.tree(depth), self.tree(depth)
        test = f"{c} {self.random.choice(['<', '<=', '>', '==', '!='])} {d}"
        if self.random.random() < 0.3:
            test = f"{test} {self.random.choice(['and', 'or'])} not i > j"
        dtype = left if left == right else promoted(left, right)
        return f"T.if_then_else({test}, {a}, {b})", dtype

    def cast(self, depth: int) -> tuple[str, str]:
        text, dtype = self.tree(depth)
        target = self.random.choice([name for name in DTYPES if is_float(name)])
        if not is_float(dtype):
            target = self.random.choice(DTYPES)
        return f'T.cast({text}, "{target}")', target

    def whole(self, depth: int) -> tuple[str, str]:
        text, dtype = self.integer(depth)
        divisor = self.random.choice(["3", "7", "(-5)", "(j + 1)"])
        return f"({text} {self.random.choice(['//', '%'])} {divisor})", promoted(dtype, "int32")

    def bits(self, depth: int) -> tuple[str, str]:
        (a, left), (b, right) = self.integer(depth), self.integer(depth)
        return f"({a} {self.random.choice('&|^')} {b})", promoted(left, right)

    def integer(self, depth: int) -> tuple[str, str]:
        """An expression of integers; a float is not turned into one."""
        for _ in range(20):
            text, dtype = self.tree(depth)
            if BY_NAME[dtype].kind in ("int", "uint"):
                return text, dtype
        return "i", "int32"


def program(seed: int) -> str:
    expressions = Expressions(seed)
    parameters = "".join(f'{t.upper()}: T.Tensor({SHAPE}, "{d}"), ' for t, d in TILES.items())
    lines = [
        f"def k({parameters}C: T.Tensor({SHAPE}, 'float64'), D: T.Tensor({SHAPE}, 'float32')):"
    ]
    lines.append("    with T.Kernel(1, threads=64) as bx:")
    for tile, dtype in TILES.items():
        lines.append(f'        {tile} = T.alloc_fragment({SHAPE}, "{dtype}")')
        lines.append(f"        T.copy({tile.upper()}, {tile})")
    lines.append('        c = T.alloc_fragment((20, 24), "float64")')
    lines.append("        for i, j in T.Parallel(20, 24):")
    lines.append(f"            c[i, j] = {expressions.tree(4)[0]}")
    lines.append(f"            if {expressions.leaf()[0]} < {expressions.leaf()[0]}:")
    lines.append(f"                c[i, j] = {expressions.tree(3)[0]}")
    lines.append("            C[i, j] = c[i, j]")
    lines.append(f"            D[i, j] = {expressions.tree(3)[0]}")
    return "\n".join(lines)


def arrays(seed: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    made = []
    for dtype in DTYPES:
        kind = getattr(torch, dtype)
        if is_float(dtype):
            # Multiples of 1/8, so that most sums and products are exact.
            made.append((torch.randint(-40, 40, SHAPE) / 8).to(kind))
        else:
            made.append(torch.randint(0 if "uint" in dtype else -9, 9, SHAPE).to(kind))
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_agree(seed: int, device: str) -> None:
    # Half types round after each operation; a fused multiply-add on the GPU rounds once.
    tolerance = 1e-6 if device == "cpu" else 2e-2
    agree(
        textwrap.dedent(program(seed)),
        arrays(seed),
        device,
        outputs=("C", "D"),
        tolerance=tolerance,
    )
