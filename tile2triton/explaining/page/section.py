"""What a page shows of one kernel on one target, compiled with its patches and without them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rewrites.facts import Facts
from tile2triton.compile_check import check_all
from tile2triton.emit import emit
from tile2triton.emit.patches import without_patches
from tile2triton.explaining.origins import origins
from tile2triton.explaining.page.changes import compared
from tile2triton.explaining.page.panes import (
    Pane,
    machine_pane,
    program_pane,
    triton_pane,
    ttgir_pane,
)
from tile2triton.explaining.report import Explained, explained
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.kernel_report import KernelReport
from tile2triton.module_cache import write_module
from tile2triton.targets import target as target_named

PATCHED = "TTGIR with patches"
NO_PATCHES = "No patches: the compiled kernel is what Triton makes of it."


@dataclass(frozen=True)
class Section:
    """One kernel on one target; `name` is how the user calls it.

    `stock` and `patched` are TTGIR without patches and with them; the latter is empty where there
    are none, and `patches` is what became of them, as JSON.
    """

    name: str
    explained: Explained
    panes: tuple[Pane, ...]
    stock: str
    patched: str
    patches: str


def sections(name: str, kernel: CompiledKernel, target: str) -> list[Section]:
    """One for each launch of a kernel."""
    tree, facts = kernel.lowered_for(target)
    text = emit(tree, facts)
    stock_text = without_patches(text)
    modules = [(text, facts, target)]
    if facts.patches:
        modules.append((stock_text, replace(facts, patches=[]), target))
    reports = check_all(modules, is_listed=True)
    count = len(facts.launches)
    ours, stock = reports[:count], reports[-count:]
    made_of = origins(tree, text, facts.filename)
    program = program_pane(made_of, text, facts.filename)
    return [
        _section(name, one, facts, text, program, report, plain, stock_text)
        for one, report, plain in zip(explained(text, facts, ours), ours, stock, strict=True)
    ]


def _section(
    name: str,
    one: Explained,
    facts: Facts,
    text: str,
    program: Pane,
    report: KernelReport,
    plain: KernelReport,
    stock_text: str,
) -> Section:
    path = str(write_module(text, facts.name))
    stock_path = str(write_module(stock_text, facts.name))
    has_patches = any(patch.kernel == report.kernel for patch in facts.patches)
    after: list[Pane] = []
    if plain.listing:
        title = "TTGIR as Triton makes it"
        after.append(ttgir_pane("stock", title, plain.listing["ttgir"], stock_path, stock_text))
    if not has_patches:
        after.append(Pane("patched", PATCHED, NO_PATCHES, ()))
    elif report.listing:
        after.append(ttgir_pane("patched", PATCHED, report.listing["ttgir"], path, text))
        if plain.listing:
            after = list(compared(*after))
    if report.listing:
        is_nvidia = target_named(report.target).backend == "cuda"
        title = "Machine code (PTX)" if is_nvidia else "Machine code (GCN)"
        after.append(machine_pane(title, report.listing["machine"], path, text))
    triton = triton_pane(text, _statements([program, *after]))
    return Section(
        name=name,
        explained=one,
        panes=(program, triton, *after),
        stock=plain.listing.get("ttgir", ""),
        patched=report.listing.get("ttgir", "") if has_patches else "",
        patches=report.listing.get("patches", "") if has_patches else "",
    )


def _statements(panes: Iterable[Pane]) -> set[int]:
    return {
        statement
        for pane in panes
        for part in pane.parts
        for line in part.lines
        for statement in line.statements
    }
