"""Random tile programs: copies of parts, reductions, loops and branches, against the reference."""

import random

import pytest
import torch

from tests.three_meanings import agree

SEEDS = range(40)
SIZES = (1, 3, 8, 12, 16, 20)


class Programs:
    """Writes statements over a few float32 tiles; every tile is cleared first."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.rows, self.columns = pick(SIZES[1:]), pick(SIZES[1:])
        self.matrices = {f"m{n}": (pick(SIZES), pick(SIZES)) for n in range(3)}
        self.vectors = {f"v{n}": pick(SIZES) for n in range(3)}
        self.lines: list[str] = []
        self.depth = 2
        self.counters: list[str] = []

    def write(self) -> str:
        shape = f"({self.rows}, {self.columns})"
        outputs = [
            f"{name.upper()}: T.Tensor({size if isinstance(size, tuple) else (size,)}, 'float32')"
            for name, size in {**self.matrices, **self.vectors}.items()
        ]
        self.lines = [
            f"def k(A: T.Tensor({shape}, 'float32'), n: T.int32, {', '.join(outputs)}):",
            "    with T.Kernel(1, threads=64) as bx:",
        ]
        for name, size in {**self.matrices, **self.vectors}.items():
            extents = size if isinstance(size, tuple) else (size,)
            self.add(f'{name} = T.alloc_fragment({extents}, "float32")')
            self.add(f"T.fill({name}, {self.random.choice(['0', '1', '-2.5'])})")
        self.block(6)
        for name in (*self.matrices, *self.vectors):
            self.add(f"T.copy({name}, {name.upper()})")
        return "\n".join(self.lines)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, count: int) -> None:
        for _ in range(count):
            kinds = ["load", "element", "element", "reduce", "part", "update"]
            if self.depth < 4:
                kinds += ["loop", "branch"]
            getattr(self, self.random.choice(kinds))()

    def load(self) -> None:
        name = self.random.choice(list(self.matrices))
        row, column = self.random.randint(-2, self.rows), self.random.randint(-2, self.columns)
        step = self.random.choice([*self.counters, "bx"])
        self.add(f"T.copy(A[{step} + {row}, {step} * 2 + {column}], {name})")

    def element(self) -> None:
        name = self.random.choice(list(self.matrices))
        rows, columns = self.matrices[name]
        if self.random.random() < 0.3:
            rows = self.random.randint(1, rows)
        self.add(f"for i, j in T.Parallel({rows}, {columns}):")
        value = f"{name}[i, j] * 0.5 + {self.operand(rows, columns, name)}"
        guard = self.random.random() < 0.4
        if guard:
            self.add(
                f"    if {self.operand(rows, columns, name)} > {self.random.choice(['i', 'j', '0.2'])}:"
            )
        self.add("    " * (1 + guard) + f"{name}[i, j] = {value}")
        if guard and self.random.random() < 0.5:
            self.add("    else:")
            self.add(f"        {name}[i, j] = {self.operand(rows, columns, name)}")

    def operand(self, rows: int, columns: int, written: str) -> str:
        choices = ["A[i, j]", "A[i + 1, j * 2]", "i", "1.25", f"A[{columns} - j, i]"]
        choices += [f"{v}[i]" for v, size in self.vectors.items() if size >= rows]
        choices += [f"{v}[j]" for v, size in self.vectors.items() if size >= columns]
        choices += [f"{v}[j % {size}]" for v, size in self.vectors.items()]
        choices += [f"{v}[{size - 1}]" for v, size in self.vectors.items()]
        for name, (r, c) in self.matrices.items():
            if name == written:
                # Other elements of the tile that is written would be a race.
                continue
            choices += [f"{name}[i, j]"] if r >= rows and c >= columns else []
            choices += [f"{name}[j, i]"] if r >= columns and c >= rows else []
            choices += [f"{name}[i, {c - 1}]"] if r >= rows else []
        return self.random.choice(choices)

    def reduce(self) -> None:
        name = self.random.choice(list(self.matrices))
        rows, columns = self.matrices[name]
        dim = self.random.choice([0, 1])
        fitting = [v for v, size in self.vectors.items() if size == (columns, rows)[dim]]
        if not fitting:
            return
        kind = self.random.choice(["sum", "max", "min", "absmax"])
        clear = self.random.choice([True, False])
        self.add(
            f"T.reduce_{kind}({name}, {self.random.choice(fitting)}, dim={dim}, clear={clear})"
        )

    def part(self) -> None:
        source, target = (self.random.choice(list(self.matrices)) for _ in range(2))
        if source == target:
            return
        rows = min(self.matrices[source][0], self.matrices[target][0])
        columns = min(self.matrices[source][1], self.matrices[target][1])
        if rows < 2 or columns < 2:
            return
        height, width = self.random.randint(2, rows), self.random.randint(2, columns)
        sides = []
        for name in (source, target):
            r = self.random.randint(0, self.matrices[name][0] - height)
            c = self.random.randint(0, self.matrices[name][1] - width)
            sides.append(f"{name}[{r}:{r + height}, {c}:{c + width}]")
        self.add(f"T.copy({sides[0]}, {sides[1]})")

    def update(self) -> None:
        name = self.random.choice(list(self.vectors))
        size = self.vectors[name]
        count = self.random.randint(1, 9)
        self.add(f"for i, j in T.Parallel({size}, {count}):")
        guard = self.random.random() < 0.5
        if guard:
            self.add("    if A[i, j] > 0:")
        self.add("    " * (1 + guard) + f"{name}[i] += A[i, j] * 0.25")

    def loop(self) -> None:
        counter = f"k{len(self.lines)}"
        header = self.random.choice(
            ["T.serial(3)", "T.Pipelined(2, num_stages=2)", "T.serial(n)", "T.serial(2, 0, -1)"]
        )
        self.add(f"for {counter} in {header}:")
        self.nested(counter)

    def branch(self) -> None:
        counter = self.random.choice([*self.counters, "bx"])
        self.add(f"if A[{counter}, 0] > {self.random.choice(['0', '0.3'])}:")
        self.nested(None)
        if self.random.random() < 0.4:
            self.add("else:")
            self.nested(None)

    def nested(self, counter: str | None) -> None:
        self.depth += 1
        self.counters += [counter] if counter else []
        before = len(self.lines)
        self.block(2)
        if len(self.lines) == before:
            self.add("T.fill(v0, 0.5)")
        self.depth -= 1
        if counter:
            self.counters.remove(counter)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_tile_programs_agree(seed: int, target: str, device: str) -> None:
    programs = Programs(seed)
    text = programs.write()
    torch.manual_seed(seed)
    a = torch.randn(programs.rows, programs.columns)
    outputs = [name.upper() for name in (*programs.matrices, *programs.vectors)]
    agree(text, [a, 2], device, outputs=outputs, target=target, tolerance=1e-5)
