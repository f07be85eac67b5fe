"""The accesses to shared memory of a kernel as rows, to be set beside what a profiler counts."""

from dataclasses import dataclass

from .accesses import Access, accesses
from .matrix_operands import Boxes
from .parse import parse


@dataclass(frozen=True)
class Row:
    """One access, as often as one program (a block of warps) does it in one trip of its loops.

    `instructions` are those of one warp, and `issues` those of all warps. A row whose `reason` is
    not empty is not simulated. `counter` is the name that Nsight Compute has for the conflicts,
    summed up over programs and trips; it is empty where no counter shows them.
    """

    buffer: str
    operation: str
    instruction: str
    instructions: int
    issues: int
    ideal: int
    simulated: int
    depth: int
    trips: int | None
    line: int
    counter: str
    reason: str = ""

    @property
    def conflicts(self) -> int:
        """Wavefronts above the ideal: what the counter counts."""
        return self.simulated - self.ideal

    @property
    def ways(self) -> float:
        """How many times slower than without conflicts: 1.0 is none."""
        return self.simulated / self.ideal if self.ideal else 1.0


_COUNTER = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"


def predicted(text: str, target: str = "") -> list[Row]:
    """Rows for each access in the TTGIR, in its order; `target` is the module's own if empty.

    Raises LayoutError where the text is no TTGIR, or the target has memory that is not known.
    """
    return [row_of(access) for access in accesses(parse(text), target)]


def row_of(access: Access) -> Row:
    """The figures of one access."""
    operation, made = access.operation, access.made
    name, instructions, issues, ideal, simulated = "", 0, 0, 0, 0
    if isinstance(made, Boxes):
        name, instructions, issues = "cp.async.bulk.tensor", made.count, made.count
        ideal = simulated = made.wavefronts
    elif made is not None:
        name, instructions = made.instruction.name, made.count
        issues, ideal, simulated = made.count * made.warps, made.ideal, made.simulated
    return Row(
        buffer=access.buffer,
        operation=operation.name,
        instruction=name,
        instructions=instructions,
        issues=issues,
        ideal=ideal,
        simulated=simulated,
        depth=len(operation.loops),
        trips=access.trips,
        line=operation.line,
        counter=_counter(name),
        reason=access.reason,
    )


def _counter(instruction: str) -> str:
    if instruction.startswith(("ld.shared", "ldmatrix")):
        return _COUNTER + "ld"
    if instruction.startswith(("st.shared", "stmatrix")):
        return _COUNTER + "st"
    return ""
