"""Follow the barriers of kernels in Gluon before anything of them is run."""

import ast
from types import CodeType

from rewrites.facts import Facts, Launch
from tile2triton.emit.device_functions import device_functions
from tile2triton.simulation.language import Descriptor, Tile
from tile2triton.simulation.machine import ProtocolError
from tile2triton.simulation.run import prepared, simulate

# Waits that are followed in one program: rings have gone round many times by then.
MOST_STEPS = 250
# What stands for sizes that are known at the launch only.
SIZE = 130


def broken_protocols(tree: ast.Module, facts: Facts) -> dict[str, str]:
    """What goes wrong in kernels of Gluon, by their names; none does in one that is right.

    Followed are the first, the last and a middle program of each grid, whose loops are short, long
    or empty, with a producer that is as early as it may be.
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
    # What pointers load is a tile like any other.
    given = {one: described.get(one) or names.get(one) or Tile() for one in launch.arguments}
    constants = {one: names[one] for one in launch.constants}
    programs = {
        tuple(0 for _ in grid),
        tuple(extent // 2 for extent in grid),
        tuple(max(extent - 1, 0) for extent in grid),
    }
    for program in sorted(programs):
        simulate(
            code,
            launch.kernel,
            {**given, **constants},
            program=(*program, 0, 0)[:3],
            grid=[*grid, 1, 1][:3],
            computes=False,
            most_steps=MOST_STEPS,
        )


def _value(tree: ast.expr, names: dict[str, int | float | bool]) -> int:
    """An extent on the host; one that is known at the launch only is taken for a small one."""
    text = ast.unparse(tree).replace("triton.cdiv", "_cdiv")
    known = {**names, "_cdiv": lambda a, b: -(-a // b)}
    return int(eval(text, {"__builtins__": {"min": min, "max": max}}, known))
