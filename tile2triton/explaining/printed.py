"""The report of `tile2triton explain` for people."""

from tile2triton.explaining.accesses import Access
from tile2triton.explaining.hints import counted, kept, warps_said
from tile2triton.explaining.report import Explained
from tile2triton.explaining.specialized_rows import specialized_tables
from tile2triton.explaining.tiles import Move, Product

HOW = {"native": "applied", "patch": "applied by a patch", "none": "not applied"}


def lines_of(one: Explained) -> list[str]:
    """The report for people."""
    options = ", ".join(f"{key}={value}" for key, value in one.options.items())
    lines = [f"{one.kernel} for {one.target} ({one.label}): {options}"]
    if one.problem:
        return [*lines, *(f"  {line}" for line in one.problem.splitlines())]
    spills = f"{one.spills} spilled" if one.spills else "none spilled"
    memory = f"{one.shared_memory / 1024:.1f} of {one.shared_limit / 1024:.0f} KiB"
    lines.append(f"  {one.registers} registers a thread, {spills}; shared memory: {memory}")
    if one.specialized:
        for title, rows in specialized_tables(one.specialized, one.options["num_warps"]):
            lines += _table(title, rows, "")
    lines += _table("moves", [_move_row(move) for move in one.tiles.moves])
    lines += _table("products", [_product_row(product) for product in one.tiles.products])
    for title, accesses in (
        ("shared memory, simulated for one program", one.accesses),
        ("shared memory without patches", one.stock_accesses),
    ):
        lines += _table(title, [_access_row(access) for access in accesses], "")
    if one.patches:
        lines += ["", "  patches without a hint"]
    for patch, said in one.patches.items():
        lines += [f"    {patch}", f"      {said}"]
    if one.hints:
        lines += ["", "  hints"]
    for hint in one.hints:
        lines.append(f"    line {hint.line}: {hint.construct}")
        lines.append(f"      {HOW[hint.how]}: {hint.detail}")
        lines += [f"      compiled: {key}: {said}" for key, said in hint.evidence.items()]
    return lines


def _move_row(move: Move) -> tuple[str, ...]:
    way = f"{move.variable} from {move.tensor}" if move.variable else f"to {move.tensor}"
    said = (counted(move.instructions), kept(move))
    return f"{move.kind} {way}", f"line {move.line}", shape_said(move), size_said(move), *said


def _access_row(access: Access) -> tuple[str, ...]:
    often = f"{access.issues} times" if access.issues else ""
    # Values without a variable have numbers.
    buffer = "-" if access.buffer.isdigit() else access.buffer or "-"
    return buffer, access.operation, access.instruction, often, access.said


def _product_row(product: Product) -> tuple[str, ...]:
    said = (counted(product.instructions), warps_said(product))
    return product.variable or "-", f"line {product.line}", shape_said(product), *said


def shape_said(row: Move | Product) -> str:
    """The element and the extents of what is moved or made."""
    return f"{row.element}[{', '.join(map(str, row.shape))}]"


def size_said(move: Move) -> str:
    """How much is moved, in bytes."""
    return f"{move.bytes / 1024:.3g} KiB" if move.bytes >= 1024 else f"{move.bytes} bytes"


def _table(
    title: str, rows: list[tuple[str, ...]], order: str = ", by lines of the emitted module"
) -> list[str]:
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    made = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return [
        "",
        f"  {title}{order}",
        *(f"    {row}".rstrip() for row in made),
    ]
