"""Settings of TileLang's passes that say how a kernel runs: not by wgmma, not by TMA."""

import ast
from collections.abc import Mapping

from rewrites.descriptors import has_tma
from rewrites.facts import Facts, Patch, WrittenHint
from rewrites.hint_notes import outcome
from tile2triton.hints.anchors import products_in
from tile2triton.hints.kernel_patches import KERNEL_PATCHES
from tile2triton.targets import target

NO_WGMMA, NO_TMA = "tl.disable_wgmma", "tl.disable_tma_lower"
KIND = "mma_version"


def enabled(configs: object) -> tuple[str, ...]:
    """Which of the two are on; keys are text, or those of an enumeration."""
    given = configs if isinstance(configs, Mapping) else {}
    on = [str(key).lower().removeprefix("passconfigkey.") for key, value in given.items() if value]
    return tuple(name for name in (NO_WGMMA, NO_TMA) if {name, name.replace(".", "_")} & {*on})


def settle_option(kernel: ast.FunctionDef, facts: Facts) -> None:
    """Settle `pass_configs=` of a decorator, which has no line of its own: the kernel's stands."""
    for name in facts.hints.get("pass_configs", ()):
        construct = f'pass_configs={{"{name}": True}}'
        how, detail = _settled(name, construct, kernel.lineno, "", kernel, facts)
        outcome(facts, construct, kernel.lineno, "", how, detail)


def settle_annotation(hint: WrittenHint, kernels: list[ast.FunctionDef], facts: Facts) -> None:
    """Settle T.annotate_pass_configs, which is of all kernels of a program."""
    names = enabled(hint.arguments.get("configs"))
    place = hint.line, hint.filename
    for name in names:
        for kernel in kernels:
            how, detail = _settled(name, hint.construct, *place, kernel, facts)
            outcome(facts, hint.construct, *place, how, detail)
    if not names:
        reason = "they are settings of TileLang's passes"
        outcome(facts, hint.construct, *place, "none", reason)


def _settled(
    name: str, construct: str, line: int, filename: str, kernel: ast.FunctionDef, facts: Facts
) -> tuple[str, str]:
    """What becomes of a setting in one kernel, and the words for it."""
    goal = target(facts.target)
    if name == NO_TMA:
        return "native", "pointers move tiles" if has_tma(goal.name) else "the target has no TMA"
    if not products_in(kernel):
        return "native", "nothing is multiplied"
    reason = KERNEL_PATCHES[KIND].refusal(kernel, facts)
    if reason:
        is_hopper = goal.name == "cuda:90"
        return "native", reason if is_hopper else "the target has no wgmma"
    said = f"`{KIND}` of the kernel"
    if all((one.kind, one.kernel) != (KIND, kernel.name) for one in facts.patches):
        arguments = (("version", 2),)
        facts.patches.append(Patch(KIND, "", kernel.name, construct, line, arguments, filename))
    return "patch", said
