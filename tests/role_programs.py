"""Random programs of groups of threads that pass tiles on to each other, and ways to break them."""

import random
import re
import textwrap

WIDTH = 8


def program(seed: int) -> tuple[str, int]:
    """The text of a program whose barriers are right, and how many groups of threads it has."""
    make = random.Random(seed)
    kind = make.choice([_fan_out, _chain, _turns])
    return kind(make)


def broken(text: str, seed: int) -> str:
    """The program with one mistake, which may or may not change what it computes."""
    make = random.Random(seed)
    lines = text.splitlines()
    at = make.choice([i for i, line in enumerate(lines) if re.match(r" {12,}T\.", line)])
    line = lines[at]
    kind = make.choice(["drop", "swap", "parity", "stage", "early", "view"])
    if kind == "drop" and "barrier_" in line:
        lines[at] = line[: _indent(line)] + "T.sync_threads()"
    elif kind == "swap" and at + 1 < len(lines) and re.match(r" {12,}T\.", lines[at + 1]):
        lines[at + 1] = line[: _indent(line)] + lines[at + 1].lstrip()
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    elif kind == "parity" and "barrier_wait" in line:
        lines[at] = re.sub(r"\((k // \d+)( \+ 1)?\) % 2", r"(\1 + 1) % 2", line)
        if lines[at] == line:
            lines[at] = line.replace("(k // ", "(1 + k // ")
    elif kind == "stage":
        lines[at] = re.sub(r"\[k % (\d)", lambda m: f"[k % {max(1, int(m[1]) - 1)}", line)
    elif kind == "early":
        lines[at] = re.sub(r"k // (\d)", "k // 1", line)
    elif kind == "view":
        lines[at] = line.replace("s0[", "v0[")
    return "\n".join(lines) + "\n"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text(turns: int, groups: int, rows: int, tiles: str, roles: list[str]) -> tuple[str, int]:
    lines = [
        f'def k(A: T.Tensor(({turns}, {WIDTH}), "int32"),',
        f'      C: T.Tensor(({rows}, {WIDTH}), "int32")):',
        f"    with T.Kernel(1, threads={128 * groups}) as bx:",
        textwrap.indent(textwrap.dedent(tiles).strip(), " " * 8),
    ]
    lines += [
        f'        f{group} = T.alloc_fragment(({WIDTH},), "int32")' for group in range(groups)
    ]
    for group, body in enumerate(roles):
        lines.append(f"        with T.ws({group}):")
        own = re.sub(r"\bf\b", f"f{group}", textwrap.dedent(body))
        lines.append(textwrap.indent(own.strip("\n"), " " * 12))
    return "\n".join(lines) + "\n", groups


def _load(make: random.Random, source: str, target: str, full: str) -> str:
    if make.random() < 0.5:
        return f"T.tma_copy({source}, {target}, barrier={full})"
    return f"T.copy({source}, {target})"


def _fan_out(make: random.Random) -> tuple[str, int]:
    """One group loads; the others each sum up and write rows of their own."""
    groups, stages, turns = make.choice([2, 3]), make.choice([1, 2, 3]), make.choice([1, 3, 4, 7])
    users = groups - 1
    tiles = f"""
    s0 = T.alloc_shared(({stages}, {WIDTH}), "int32")
    v0 = T.reshape(s0, ({stages}, {WIDTH}))
    full = T.alloc_barrier(({", ".join(["128"] * stages)},))
    empty = T.alloc_barrier(({", ".join([str(128 * users)] * stages)},))
    """
    load = f"""
    for k in T.serial({turns}):
        T.barrier_wait(empty[k % {stages}], (k // {stages} + 1) % 2)
        {_load(make, "A[k, :]", f"s0[k % {stages}, :]", f"full[k % {stages}]")}
        T.barrier_arrive(full[k % {stages}])
    """
    roles = [load]
    for user in range(users):
        roles.append(f"""
    T.clear(f)
    for k in T.serial({turns}):
        T.barrier_wait(full[k % {stages}], (k // {stages}) % 2)
        for i in T.Parallel({WIDTH}):
            f[i] = f[i] * 3 + s0[k % {stages}, i]
        T.barrier_arrive(empty[k % {stages}])
    T.copy(f, C[{user}, :])
    """)
    if make.random() < 0.5:
        roles.reverse()
    return _text(turns, groups, users, tiles, roles)


def _chain(make: random.Random) -> tuple[str, int]:
    """Tiles go from one group to the next, each of which changes them."""
    first, second, turns = make.choice([1, 2, 3]), make.choice([1, 2]), make.choice([1, 3, 4, 6])
    tiles = f"""
    s0 = T.alloc_shared(({first}, {WIDTH}), "int32")
    s1 = T.alloc_shared(({second}, {WIDTH}), "int32")
    v0 = T.reshape(s0, ({first}, {WIDTH}))
    full = T.alloc_barrier(({", ".join(["128"] * first)},))
    empty = T.alloc_barrier(({", ".join(["128"] * first)},))
    ready = T.alloc_barrier(({", ".join(["128"] * second)},))
    free = T.alloc_barrier(({", ".join(["128"] * second)},))
    """
    roles = [
        f"""
    for k in T.serial({turns}):
        T.barrier_wait(empty[k % {first}], (k // {first} + 1) % 2)
        {_load(make, "A[k, :]", f"s0[k % {first}, :]", f"full[k % {first}]")}
        T.barrier_arrive(full[k % {first}])
    """,
        f"""
    for k in T.serial({turns}):
        T.barrier_wait(full[k % {first}], (k // {first}) % 2)
        T.barrier_wait(free[k % {second}], (k // {second} + 1) % 2)
        for i in T.Parallel({WIDTH}):
            s1[k % {second}, i] = s0[k % {first}, i] * 2 + k
        T.barrier_arrive(empty[k % {first}])
        T.barrier_arrive(ready[k % {second}])
    """,
        f"""
    T.clear(f)
    for k in T.serial({turns}):
        T.barrier_wait(ready[k % {second}], (k // {second}) % 2)
        for i in T.Parallel({WIDTH}):
            f[i] = f[i] * 5 + s1[k % {second}, i]
        T.barrier_arrive(free[k % {second}])
    T.copy(f, C[0, :])
    """,
    ]
    return _text(turns, 3, 1, tiles, roles)


def _turns(make: random.Random) -> tuple[str, int]:
    """Two groups change one tile by turns, and the second writes it."""
    turns = make.choice([1, 2, 3, 5])
    tiles = f"""
    s0 = T.alloc_shared((1, {WIDTH}), "int32")
    v0 = T.reshape(s0, (1, {WIDTH}))
    mine = T.alloc_barrier((128,))
    yours = T.alloc_barrier((128,))
    """
    roles = [
        f"""
    for k in T.serial({turns}):
        T.barrier_wait(mine[0], (k // 1 + 1) % 2)
        T.copy(A[k, :], f)
        for i in T.Parallel({WIDTH}):
            s0[0, i] = f[i] + 7
        T.barrier_arrive(yours[0])
    """,
        f"""
    for k in T.serial({turns}):
        T.barrier_wait(yours[0], (k // 1) % 2)
        for i in T.Parallel({WIDTH}):
            s0[0, i] = s0[0, i] * 3
        T.copy(s0[0, :], C[k, :])
        T.barrier_arrive(mine[0])
    """,
    ]
    return _text(turns, 2, turns, tiles, roles)
