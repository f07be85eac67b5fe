"""Annotations that become patches of a whole kernel: where each is legal, and what it asks for."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from rewrites.facts import Facts, Patch
from tile2triton.hints.anchors import anchors_of, products_in
from tile2triton.hints.gemm_warps import WIDE
from tile2triton.patch_targets import refusal
from tile2triton.targets import target


@dataclass(frozen=True)
class KernelPatch:
    """One annotation: `argument` is what its number is called, "" where it has none.

    `lack` says what a kernel lacks for it, or nothing.
    """

    kind: str
    argument: str
    lack: Callable[[ast.FunctionDef, Facts], str]

    def refusal(self, kernel: ast.FunctionDef, facts: Facts) -> str:
        """Why a kernel does not take it on its target; "" where it does."""
        return refusal(self.kind, target(facts.target), {}) or self.lack(kernel, facts)


def _mma_version(kernel: ast.FunctionDef, facts: Facts) -> str:
    if not products_in(kernel):
        return "the kernel has no matrix products"
    made = (name for name, found in anchors_of(kernel).items() if found[0].kind == "dot")
    dtypes = {facts.tiles[name].dtype for name in made if name in facts.tiles}
    return f"wgmma multiplies no {WIDE}" if dtypes == {WIDE} else ""


def _direct_to_lds(kernel: ast.FunctionDef, facts: Facts) -> str:
    loads = [one for found in anchors_of(kernel).values() for one in found]
    if any(one.kind != "dot" and one.runs_ahead for one in loads):
        return ""
    return "no load of the kernel runs ahead: write T.Pipelined(…, num_stages=2)"


KERNEL_PATCHES = {
    one.kind: one
    for one in (
        KernelPatch("mma_version", "version", _mma_version),
        KernelPatch("direct_to_lds", "", _direct_to_lds),
    )
}


def ask_for(
    facts: Facts, kernel: ast.FunctionDef, name: str, value: int, node: ast.AST, construct: str
) -> tuple[str, str]:
    """Ask for a patch where it is legal; what became of the annotation, and the words for it."""
    row = KERNEL_PATCHES[name]
    reason = row.refusal(kernel, facts)
    if reason:
        return "none", reason
    line, filename = getattr(node, "lineno", 0), getattr(node, "filename", "")
    said = ((row.argument, value),) if row.argument else ()
    facts.patches.append(Patch(row.kind, "", kernel.name, construct, line, said, filename))
    return "patch", f"`{row.kind}` of the kernel"
