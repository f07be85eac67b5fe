"""What is said of a compiled kernel: resources, tiles, and what became of each hint."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rewrites.facts import Facts, Launch
from tile2triton.explaining.accesses import Access, accesses_of
from tile2triton.explaining.hints import Hint, judged_hints, unasked_patches
from tile2triton.explaining.specialized import Specialized, read_specialized
from tile2triton.explaining.tiles import Tiles, read_tiles
from tile2triton.kernel_report import KernelReport
from tile2triton.patch_metadata import PatchMetadata
from tile2triton.targets import target


@dataclass(frozen=True)
class Explained:
    """One kernel on one target. `options` are those of the launch, `problem` is why it failed.

    `patches` are those that no hint asked for, and what became of them; `accesses` are those to
    shared memory, and `stock_accesses` those without patches, empty where there are none.
    """

    kernel: str
    target: str
    label: str
    options: Mapping[str, int]
    registers: int
    spills: int
    shared_memory: int
    shared_limit: int
    instructions: Mapping[str, int]
    problem: str
    tiles: Tiles
    hints: tuple[Hint, ...]
    patches: Mapping[str, str] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    stock_accesses: tuple[Access, ...] = ()
    # Of kernels in Gluon only.
    specialized: Specialized | None = None

    def to_data(self) -> dict[str, Any]:
        """As it is written in JSON."""
        return asdict(self)


def explained(
    text: str,
    facts: Facts,
    reports: Sequence[KernelReport],
    stock: Sequence[KernelReport] = (),
) -> list[Explained]:
    """What is said of each kernel of an emitted module, compiled with listings.

    `stock` are the reports of the kernels compiled without patches, where there are any.
    """
    made = []
    patched = {patch.kernel for patch in facts.patches}
    for launch, report, plain in zip(facts.launches, reports, stock or reports, strict=True):
        goal = target(report.target)
        listing = report.listing
        metadata = PatchMetadata.read(listing.get("patches", ""))
        tiles = Tiles((), (), ())
        specialized = None
        if listing:
            read = listing["ttgir"], listing["machine"], listing["path"], text
            is_nvidia = goal.backend == "cuda"
            tiles = read_tiles(*read, is_nvidia)
            if launch.language == "gluon":
                specialized = read_specialized(launch.kernel, *read, is_nvidia)
        made.append(
            Explained(
                kernel=report.kernel,
                target=report.target,
                label=goal.label,
                options=_options(launch),
                registers=report.registers,
                spills=report.spills,
                shared_memory=report.shared_memory,
                shared_limit=report.shared_limit,
                instructions=report.instructions,
                problem="" if report.problem is None else report.problem.render(),
                tiles=tiles,
                hints=tuple(judged_hints(facts, report, tiles, metadata)),
                patches=unasked_patches(metadata),
                accesses=accesses_of(listing.get("ttgir", "")),
                stock_accesses=(
                    accesses_of(plain.listing.get("ttgir", ""))
                    if stock and report.kernel in patched
                    else ()
                ),
                specialized=specialized,
            )
        )
    return made


def _options(launch: Launch) -> dict[str, int]:
    stages = {"num_stages": launch.num_stages}
    return {"num_warps": launch.num_warps, **stages, **launch.options}
