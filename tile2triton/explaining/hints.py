"""What became of each hint once the kernel is compiled, with the machine code as evidence."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rewrites.facts import Facts, HintOutcome, Patch
from tile2triton.explaining.claims import contradiction
from tile2triton.explaining.tiles import Move, Product, Tiles
from tile2triton.kernel_report import KernelReport
from tile2triton.patch_metadata import PatchFate, PatchMetadata
from tile2triton.sites import site_name

# What machine code shows of an access that says what caches keep.
_CACHING = ("evict", "cache_hint", " nt")


@dataclass(frozen=True)
class Hint:
    """A hint, how it was applied in the end and why, and what the compiled code shows of it."""

    construct: str
    filename: str
    line: int
    how: str
    detail: str
    evidence: Mapping[str, str] = field(default_factory=dict)


def judged_hints(
    facts: Facts, report: KernelReport, tiles: Tiles, metadata: PatchMetadata
) -> Iterator[Hint]:
    """The hints of a kernel that was compiled with its listing."""
    for one in facts.hint_report:
        if one.kernels and report.kernel not in one.kernels:
            continue
        rows = _rows(one, facts, tiles)
        how, detail = one.how, one.detail
        evidence = _evidence(rows)
        # What Triton's cache had may tell of another line: a hint's words do not make a kernel.
        asked = {(patch.kind, patch.anchor) for patch in _patches(one, facts)}
        own = [patch for patch in metadata.patches if (patch.kind, patch.anchor) in asked]
        if how == "patch" and own:
            how, detail, evidence = _patched(metadata, own, one, evidence)
            if how == "patch" and _is_laid_otherwise(one, facts, rows):
                how, detail = "none", "a later pass of Triton's has laid it out otherwise"
        elif how == "native" and "eviction_policy=" in one.construct and _is_dropped(one, rows):
            how, detail = "none", f"{detail}, which Triton drops where a copy is asynchronous"
        elif how == "native" and "maxnreg" in detail:
            evidence = {"registers": f"{report.registers} a thread, {report.spills} spilled"}
        if how != "none" and one.claim and (shown := contradiction(one.claim, rows)):
            how, detail = "none", shown
        if how != "none" and report.problem is not None:
            how, detail = "none", "the kernel fails on this target"
        yield Hint(one.construct, one.filename or facts.filename, one.line, how, detail, evidence)


def unasked_patches(metadata: PatchMetadata) -> dict[str, str]:
    """The patches that no hint asked for, and what the compiler said became of them."""
    counts = [f"{name} {old} → {new}" for name, (old, new) in metadata.changed.items()]
    changed = ", ".join(counts) or "the same instructions, as often"
    return {
        one.name: f"applied: {changed}" if one.applied else f"not applied: {one.reason}"
        for one in metadata.patches
        if not one.construct
    }


def _patched(
    metadata: PatchMetadata, own: list[PatchFate], hint: HintOutcome, evidence: dict[str, str]
) -> tuple[str, str, dict[str, str]]:
    for one in own:
        if not one.applied:
            return "none", one.reason, evidence
    changed = {
        name: f"{old} without patches, {new} with them"
        for name, (old, new) in sorted(metadata.changed.items())
    }
    return "patch", hint.detail, {**evidence, **(changed or {"counts": "as without patches"})}


def _is_laid_otherwise(hint: HintOutcome, facts: Facts, rows: list[Move | Product]) -> bool:
    """Whether tiles that a patch has laid out lie in another way in the end."""
    for patch in _patches(hint, facts):
        if patch.kind != "shared_layout":
            continue
        given = dict(patch.arguments)
        wanted = {
            "none": "not swizzled",
            "linear": "shared linear",
            "padded": f"padded {given.get('interval')}:+{given.get('padding')}",
            "swizzled": "swizzled",
        }[str(given["kind"])]
        found = [row.layout for row in rows if isinstance(row, Move) and row.buffers]
        return any(not layout.startswith(wanted) for layout in found)
    return False


def _patches(hint: HintOutcome, facts: Facts) -> list[Patch]:
    """The patches that a hint asks for."""
    return [
        one for one in facts.patches if (one.construct, one.line) == (hint.construct, hint.line)
    ]


def _rows(hint: HintOutcome, facts: Facts, tiles: Tiles) -> list[Move | Product]:
    """The moves and products of the tiles that a hint names."""
    words = set(hint.names)
    rows: list[Move | Product] = []
    if hint.construct.startswith("T.gemm"):
        rows += [row for row in tiles.products if row.variable in words]
    if hint.construct.startswith(("T.copy", "T.async_copy", "T.annotate_layout", "T.im2col")):
        is_load, tensors = _is_load(hint, facts), words & facts.tensors.keys()
        rows += [
            row
            for row in tiles.moves
            if (row.kind == "load") == is_load
            and (row.variable if is_load else row.tensor) in words
            and (not tensors or row.tensor not in facts.tensors or row.tensor in tensors)
        ]
    sites = [
        site for patch in _patches(hint, facts) if (site := site_name(patch.anchor)) is not None
    ]
    if not sites:
        return rows
    # Patches of single loads or products say which of the variable's they are.
    own = sorted((row for row in rows if row.variable == sites[0].variable), key=lambda r: r.line)
    return [own[site.number - 1] for site in sites if site.count == len(own)]


def _is_load(hint: HintOutcome, facts: Facts) -> bool:
    """Whether a copy reads from a tensor, which it then names first."""
    first = re.match(r"T\.\w+\((\w+)", hint.construct)
    return first is None or first[1] in facts.tensors


def _evidence(rows: list[Move | Product]) -> dict[str, str]:
    """What the compiled code shows of them; those of one name are told apart by their lines."""
    names = Counter(map(_name, rows))
    return {
        _name(row) + (f" at line {row.line}" if names[_name(row)] > 1 else ""): _said(row)
        for row in rows
    }


def _is_dropped(hint: HintOutcome, rows: list[Move | Product]) -> bool:
    names = [name for row in rows for name in row.instructions]
    is_said = any(word in name for name in names for word in _CACHING)
    return bool(names) and not is_said and "default" not in hint.detail


def _name(row: Move | Product) -> str:
    return row.variable or (row.tensor if isinstance(row, Move) else "")


def _said(row: Move | Product) -> str:
    rest = kept(row) if isinstance(row, Move) else warps_said(row)
    return ", ".join(part for part in (counted(row.instructions), rest) if part)


def counted(counts: Mapping[str, int]) -> str:
    """Instructions and how often each stands there."""
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none of its own"


def kept(move: Move) -> str:
    """Where a tile that is loaded is kept."""
    if move.buffers:
        return f"{move.buffers} in shared memory, {move.layout}"
    return "in registers" if move.kind == "load" else ""


def warps_said(product: Product) -> str:
    """How the warps share a product out."""
    return f"warps {' by '.join(map(str, product.warps))}" if product.warps else ""
