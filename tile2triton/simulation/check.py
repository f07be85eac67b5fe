"""Follow the barriers of kernels in Gluon before anything of them is run."""

import ast
from collections.abc import Sequence
from types import CodeType

from rewrites.facts import Facts, Launch
from rewrites.gluon.amd.chips import CHIPS
from tile2triton.emit.device_functions import device_functions
from tile2triton.simulation.language import Descriptor, Pointer
from tile2triton.simulation.machine import ProtocolError
from tile2triton.simulation.run import prepared, simulate

# How the reason of a kernel begins that is wrong as it was written.
FAULT = "followed on the CPU,"
# Waits that are followed in one program: rings have gone round many times by then.
MOST_STEPS = 250
# What stands for sizes that are known at the launch only.
SIZE = 130


def broken_protocols(tree: ast.Module, facts: Facts) -> dict[str, str]:
    """What goes wrong in kernels of Gluon, by their names; none does in one that is right.

    Followed are the first two, the last two and a middle program of each grid, whose loops are
    short, long or empty, with a producer that is as early, or in every other one as late, as it may
    be; the first and the last program with both.
    """
    statements = [*device_functions(tree.body), *tree.body]
    code = prepared([one for one in statements if isinstance(one, ast.FunctionDef)])
    found: dict[str, str] = {}
    for launch in facts.launches:
        if launch.language == "gluon":
            try:
                _follow(code, launch, facts)
            except ProtocolError as error:
                found[launch.kernel] = str(error)
            except Exception as error:
                # What cannot be followed must not run.
                found[launch.kernel] = f"its barriers cannot be followed: {error}"
    return found


def _follow(code: CodeType, launch: Launch, facts: Facts) -> None:
    names = {
        **dict.fromkeys((*facts.dims, *facts.strides, *facts.scalars), SIZE),
        **facts.constants,
    }
    grid = [_value(extent, names) for extent in launch.grid]
    described = {
        one.name: Descriptor(None, tuple(_value(extent, names) for extent in one.block))
        for one in launch.descriptors
    }
    given = {
        one: described.get(one) or (names[one] if one in names else Pointer())
        for one in launch.arguments
    }
    constants = {one: names[one] for one in launch.constants}
    for program, is_eager in _runs(grid):
        simulate(
            code,
            launch.kernel,
            {**given, **constants},
            program=(*program, 0, 0)[:3],
            grid=[*grid, 1, 1][:3],
            is_eager=is_eager,
            computes=False,
            most_steps=MOST_STEPS,
            halves=facts.target in CHIPS,
        )


def _runs(grid: Sequence[int]) -> list[tuple[tuple[int, ...], bool]]:
    """Places of programs in a grid, and whether their producers are early."""
    places = [
        tuple(min(max(at(extent), 0), extent - 1) for extent in grid)
        for at in (lambda n: 0, lambda n: 1, lambda n: n // 2, lambda n: n - 2, lambda n: n - 1)
    ]
    early = {(one, at % 2 == 0) for at, one in enumerate(places)}
    return sorted({*early, (places[0], False), (places[-1], False)})


def _value(tree: ast.expr, names: dict[str, int | float | bool]) -> int:
    """An extent on the host; one that is known at the launch only is taken for a small one."""
    text = ast.unparse(tree).replace("triton.cdiv", "_cdiv")
    known = {**names, "_cdiv": lambda a, b: -(-a // b)}
    return int(eval(text, {"__builtins__": {"min": min, "max": max}}, known))
