"""Random programs whose threads compute with their numbers and pass values on in shared memory."""

import math
import random


def program(seed: int) -> tuple[str, int]:
    """The text of a program without races, and how many threads it has."""
    make = random.Random(seed)
    threads = make.choice([8, 12, 32])
    lines = [
        f'def k(A: T.Tensor((4, {threads}), "int32"), C: T.Tensor((2, {threads}), "int32")):',
        f"    with T.Kernel(1, threads={threads}) as bx:",
        "        tx = T.get_thread_binding()",
        '        mine = T.alloc_var("int32", 0)',
        '        own = T.alloc_local((3,), "int32")',
        f'        s = T.alloc_shared(({threads},), "int32")',
        f'        t = T.alloc_shared(({threads},), "int32")',
        "        for j in T.serial(3):",
        "            own[j] = j + tx",
    ]
    for number in range(make.randint(1, 4)):
        lines += _phase(make, threads, " " * 8, number)
    lines += ["        C[0, tx] = mine", f"        C[1, {_place(make, threads)}] = own[tx % 3]"]
    return "\n".join(lines) + "\n", threads


def _place(make: random.Random, threads: int) -> str:
    """Another element for each thread."""
    factor = make.choice([f for f in (1, 3, 5, 7, 11) if math.gcd(f, threads) == 1])
    shift = make.randrange(threads)
    return make.choice(["tx", f"{threads - 1} - tx", f"(tx * {factor} + {shift}) % {threads}"])


def _phase(make: random.Random, threads: int, indent: str, number: int) -> list[str]:
    kind = make.choice(["pass", "pass", "own", "branch", "one", "loop", "global"])
    at = make.choice(["tx", f"{threads - 1} - tx"])
    back, some = _place(make, threads), make.randrange(1, threads)
    match kind:
        case "pass":
            body = [
                f"s[{at}] = mine * 2 + A[{number}, tx]",
                "T.sync_threads()",
                f"mine = mine * 3 + s[{back}]",
                "T.sync_threads()",
            ]
        case "own":
            body = [
                f"for p{number} in T.serial(3):",
                f"    own[p{number}] = own[p{number}] * 2 + mine + p{number} * tx",
                f"mine = mine + own[{make.randrange(3)}]",
            ]
        case "branch":
            body = [
                f"if tx < {some}:",
                "    mine = mine + 100",
                "else:",
                f"    mine = mine * 2 + A[{number}, tx]",
            ]
        case "one":
            body = [
                f"if tx == {some}:",
                f"    t[tx] = mine + {some}",
                "T.sync_threads()",
                f"mine = mine + t[{some}]",
                "T.sync_threads()",
            ]
        case "loop":
            body = [
                f"for q{number} in T.serial(3):",
                f"    t[{at}] = mine + q{number}",
                "    T.sync_threads()",
                f"    mine = mine + t[{back}] * (q{number} + 1)",
                "    T.sync_threads()",
            ]
        case _:
            body = [f"mine = mine + A[{number}, {back}]"]
    return [indent + line for line in body]
