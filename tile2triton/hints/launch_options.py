"""Hints that are options of a launch: which of Triton's targets takes each, and in what range."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from rewrites.facts import Facts, Launch
from tile2triton.hints.anchors import products_in
from tile2triton.hints.registers import least_registers
from tile2triton.targets import Target, target

# Options of matrix instructions.
_OF_PRODUCTS = ("matrix_instr_nonkdim", "kpack")
# The registers of a multiprocessor, and the most that a thread can name.
REGISTERS = 64 * 1024
MOST_REGISTERS = 255


@dataclass(frozen=True)
class LaunchOption:
    """One option: `refusal` says why a target does not take it, or nothing where it does."""

    name: str
    refusal: Callable[[Target, Launch, int], str]


def _registers(goal: Target, launch: Launch, value: int) -> str:
    if goal.backend != "cuda":
        return "AMD's compiler bounds registers by T.waves_per_eu(n)"
    return ""


def _clusters(goal: Target, launch: Launch, value: int) -> str:
    if goal.backend != "cuda" or int(goal.arch) < 90:
        return "programs form clusters on NVIDIA's Hopper and newer chips only"
    return ""


def _waves(goal: Target, launch: Launch, value: int) -> str:
    return "" if goal.backend == "hip" else "waves are AMD's; T.registers(n) is the like of it"


def _matrix_instruction(goal: Target, launch: Launch, value: int) -> str:
    return "" if goal.backend == "hip" else "NVIDIA's matrix instructions have sizes of their own"


def _k_pack(goal: Target, launch: Launch, value: int) -> str:
    if goal.name == "hip:gfx942":
        return ""
    if goal.backend == "hip":
        return f"matrix instructions of {goal.arch} take as much of k at once by themselves"
    return "it packs operands of AMD's matrix instructions"


OPTIONS = {
    option.name: option
    for option in (
        LaunchOption("maxnreg", _registers),
        LaunchOption("num_ctas", _clusters),
        LaunchOption("waves_per_eu", _waves),
        LaunchOption("matrix_instr_nonkdim", _matrix_instruction),
        LaunchOption("kpack", _k_pack),
    )
}


def set_option(
    facts: Facts, launch: Launch, kernel: ast.FunctionDef, name: str, value: int
) -> tuple[str, str]:
    """Give a launch an option where its target takes it; what became of it, and the words."""
    refusal = OPTIONS[name].refusal(target(facts.target), launch, value)
    if not refusal and name == "maxnreg":
        least = least_registers(kernel, launch, facts)
        refusal = f"its matrix products take {least} registers a thread" if value < least else ""
    if not refusal and name in _OF_PRODUCTS and not products_in(kernel):
        refusal = "the kernel has no matrix products"
    if refusal:
        return "none", refusal
    known = launch.options.setdefault(name, value)
    if known != value:
        return "none", f"another hint says {name}={known}, and a launch has one"
    return "native", f"`{name}={value}` at the launch"
