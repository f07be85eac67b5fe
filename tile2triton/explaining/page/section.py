"""What a page shows of one kernel on one target, compiled with its patches and without them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

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
from tile2triton.patch_metadata import PatchMetadata
from tile2triton.targets import target as target_named

PATCHED = "TTGIR with patches"
NO_PATCHES = "No patches: the compiled kernel is what Triton makes of it."


@dataclass(frozen=True)
class Section:
    """One kernel on one target; `name` is how the user calls it.

    `stock` and `patched` are TTGIR without patches and with them; the latter is empty where there
    are none, and `patches` is what became of them.
    """

    name: str
    explained: Explained
    panes: tuple[Pane, ...]
    stock: str
    patched: str
    patches: PatchMetadata = field(default_factory=PatchMetadata)


@dataclass(frozen=True)
class _Compiled:
    """One kernel of the emitted module `text`."""

    text: str
    report: KernelReport

    def ttgir(self, key: str, title: str) -> Pane:
        listing = self.report.listing
        return ttgir_pane(key, title, listing["ttgir"], listing["path"], self.text)

    def machine(self) -> Pane:
        is_nvidia = target_named(self.report.target).backend == "cuda"
        title = "Machine code (PTX)" if is_nvidia else "Machine code (GCN)"
        listing = self.report.listing
        return machine_pane(title, listing["machine"], listing["path"], self.text)


def sections(name: str, kernel: CompiledKernel, target: str) -> list[Section]:
    """One for each launch of a kernel."""
    tree, facts = kernel.lowered_for(target)
    texts = [emit(tree, facts)]
    if facts.patches:
        texts.append(without_patches(texts[0]))
    reports = check_all([(text, facts, target) for text in texts], is_listed=True)
    count = len(facts.launches)
    ours, stock = (
        [_Compiled(text, one) for one in made]
        for text, made in ((texts[0], reports[:count]), (texts[-1], reports[-count:]))
    )
    program = program_pane(origins(tree, texts[0], facts.filename), texts[0], facts.filename)
    patched = {patch.kernel for patch in facts.patches}
    return [
        _section(name, one, program, made, plain, made.report.kernel in patched)
        for one, made, plain in zip(
            explained(texts[0], facts, reports[:count], reports[-count:]),
            ours,
            stock,
            strict=True,
        )
    ]


def _section(
    name: str, one: Explained, program: Pane, ours: _Compiled, stock: _Compiled, is_patched: bool
) -> Section:
    listing, plain = ours.report.listing, stock.report.listing
    after: list[Pane] = []
    if plain:
        after.append(stock.ttgir("stock", "TTGIR as Triton makes it"))
    if not is_patched:
        after.append(Pane("patched", PATCHED, NO_PATCHES, ()))
    elif listing:
        after.append(ours.ttgir("patched", PATCHED))
        if plain:
            after = list(compared(*after))
    if listing:
        after.append(ours.machine())
    return Section(
        name=name,
        explained=one,
        panes=(program, triton_pane(ours.text, _statements([program, *after])), *after),
        stock=plain.get("ttgir", ""),
        patched=listing.get("ttgir", "") if is_patched else "",
        patches=PatchMetadata.read(listing.get("patches", "") if is_patched else ""),
    )


def _statements(panes: Iterable[Pane]) -> set[int]:
    return {
        statement
        for pane in panes
        for part in pane.parts
        for line in part.lines
        for statement in line.statements
    }
