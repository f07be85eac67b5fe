"""The accesses to shared memory in PTX, with the wavefronts of the addresses that it computes.

This sees what TTGIR does not say: the scratch memory of conversions and reductions.
"""

import re
from dataclasses import dataclass

import numpy as np

from . import machines
from .conflicts import Instruction
from .linear import Indices
from .predicted import counter_of
from .ptx_values import Registers, UnknownValueError

_LOCATION = re.compile(r"^\.loc\s+\d+ (\d+)")
_THREADS = re.compile(r"\.(?:req|max)ntid (\d+)")
_ACCESS = re.compile(
    r"^(?:@(!?)(%p\d+) )?"
    r"((?:ldmatrix|stmatrix)\.sync\.aligned\.m8n8\.x\d[.\w]*|(?:ld|st)\.shared(?:\.v\d)?\.[bfus]\d+|"
    r"cp\.async\.c[ag]\.shared\.global)"
    r"\s.*?\[ ?(%?\w+) ?(?:\+ ?(-?\d+) ?)?\]"
    r"(?:, \[[^]]*\], (\w+))?"
)


@dataclass(frozen=True)
class PtxRow:
    """All instructions of one kind that stand for one line of the kernel's source.

    `instructions` are those of one warp, each counted once, however often loops do it. `unknown`
    are those among them whose addresses are not known, which the figures leave out.
    """

    line: int
    instruction: str
    instructions: int
    issues: int
    ideal: int
    simulated: int
    unknown: int
    counter: str

    @property
    def conflicts(self) -> int:
        """Wavefronts above the ideal: what the counter counts."""
        return self.simulated - self.ideal


def measured_in_ptx(ptx: str) -> list[PtxRow]:
    """Rows in the order of their first instructions, for the one kernel in the text."""
    threads = _THREADS.search(ptx)
    lines = [line.strip() for line in ptx.splitlines()]
    registers = Registers(lines, int(threads[1]) if threads else 128)
    rows: dict[tuple[int, str], PtxRow] = {}
    line = 0
    for text in lines:
        if location := _LOCATION.match(text):
            line = int(location[1])
        elif match := _ACCESS.match(text):
            row = _row(registers, match, line)
            key = line, row.instruction
            rows[key] = _together(rows[key], row) if key in rows else row
    return list(rows.values())


def _row(registers: Registers, match: re.Match[str], line: int) -> PtxRow:
    instruction, lanes = _instruction(match)
    issues = ideal = simulated = unknown = 0
    try:
        addresses = registers.value(match[4]) + int(match[5] or 0)
        active = np.ones(len(addresses), dtype=bool)
        if match[2]:
            active = registers.value(match[2]).astype(bool) ^ bool(match[1])
        issues = int(active.reshape(-1, 32).any(axis=-1).sum())
        ideal, simulated = _wavefronts(instruction, addresses, active, lanes)
    except UnknownValueError:
        unknown = 1
    name = instruction.name
    return PtxRow(line, name, 1, issues, ideal, simulated, unknown, counter_of(name))


def _together(first: PtxRow, second: PtxRow) -> PtxRow:
    return PtxRow(
        first.line,
        first.instruction,
        first.instructions + second.instructions,
        first.issues + second.issues,
        first.ideal + second.ideal,
        first.simulated + second.simulated,
        first.unknown + second.unknown,
        first.counter,
    )


def _instruction(match: re.Match[str]) -> tuple[Instruction, int]:
    """The instruction, and how many lanes of each warp give addresses."""
    kind, _, rest = match[3].partition(".")
    if kind.endswith("matrix"):
        count = int(rest.partition(".x")[2][0])
        return machines.matrices(kind, count, ".trans" in rest), machines.ROWS * count
    if kind == "cp":
        width = int(match[6] or "16", 0)
        return machines.copy_from_global("cuda:80", width, 8), 32
    vector, bits = re.fullmatch(r"shared(?:\.v(\d))?\.[bfus](\d+)", rest).groups()  # type: ignore[union-attr]
    width = int(vector or 1) * int(bits) // 8
    make = machines.load if kind == "ld" else machines.store
    return make("cuda:80", width, int(bits)), 32


def _wavefronts(
    instruction: Instruction, addresses: Indices, active: Indices, lanes: int
) -> tuple[int, int]:
    """Ideal and simulated wavefronts of all warps; lanes that take no part ask for nothing."""
    together = len(instruction.phases[0])
    groups = addresses.reshape(-1, 32)[:, :lanes].reshape(-1, together)
    takes_part = active.reshape(-1, 32)[:, :lanes].reshape(-1, together)
    some = takes_part.any(axis=-1)
    if not some.any():
        return 0, 0
    groups, takes_part = groups[some], takes_part[some]
    # Those that take no part do as the first that does.
    first = groups[np.arange(len(groups)), takes_part.argmax(axis=-1)]
    asked = np.where(takes_part, groups, first[:, None])
    one_phase = Instruction(
        instruction.name, instruction.width, (tuple(range(together)),), instruction.banks
    )
    return len(asked), int(one_phase.wavefronts(asked).sum())
