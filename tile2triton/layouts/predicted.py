"""The accesses to shared memory of a kernel as rows, to be set beside what a profiler counts."""

from dataclasses import dataclass

from ..ttgir_text.module import Module, Operation, read_module, trips_of
from .accesses import Access, accesses
from .matrix_operands import Boxes
from .reading import encoding_in


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
    module = read_module(text)
    rows = [row_of(access) for access in accesses(module, target)]
    rows += [_conversion(operation) for operation in module.operations if _moves(module, operation)]
    return sorted(rows, key=lambda row: row.line)


def row_of(access: Access) -> Row:
    """The figures of one access."""
    operation, made = access.operation, access.made
    name = ""
    if made is not None:
        name = "cp.async.bulk.tensor" if isinstance(made, Boxes) else made.instruction.name
    return Row(
        buffer=access.buffer,
        operation=operation.name,
        instruction=name,
        instructions=made.count if made else 0,
        issues=made.total if made else 0,
        ideal=made.ideal if made else 0,
        simulated=made.simulated if made else 0,
        depth=len(operation.loops),
        trips=trips_of(operation),
        line=operation.line,
        counter=counter_of(name),
        reason=access.reason,
    )


def exchanging(module: Module, operation: Operation) -> str:
    """What exchanges elements where a layout is changed: "lane"s of a warp, "warp"s, or nothing."""
    source, result = (
        encoding_in(module, type_).linear(type_.shape) for type_ in operation.types[:2]
    )
    places = result.after_inverse_of(source)
    for level in ("warp", "lane"):
        at = places.output_names.index(level)
        if any(
            basis[at] != (1 << bit if name == level else 0)
            for name, bases in places.inputs
            for bit, basis in enumerate(bases)
            if any(basis)
        ):
            return level
    return ""


def _moves(module: Module, operation: Operation) -> bool:
    """Whether it changes a layout so that warps exchange elements, which takes shared memory."""
    return operation.name == "ttg.convert_layout" and exchanging(module, operation) == "warp"


def _conversion(operation: Operation) -> Row:
    return Row(
        buffer=operation.variable or operation.results[0].removeprefix("%").partition("@")[0],
        operation=operation.name,
        instruction="",
        instructions=0,
        issues=0,
        ideal=0,
        simulated=0,
        depth=len(operation.loops),
        trips=trips_of(operation),
        line=operation.line,
        counter="",
        reason="Triton chooses the layout of its scratch memory while it emits the code",
    )


def counter_of(instruction: str) -> str:
    """The metric of Nsight Compute that counts the conflicts of an instruction, if one does."""
    if instruction.startswith(("ld.shared", "ldmatrix")):
        return _COUNTER + "ld"
    if instruction.startswith(("st.shared", "stmatrix")):
        return _COUNTER + "st"
    return ""
