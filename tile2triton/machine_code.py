"""Mistakes of ptxas that NVIDIA's machine code shows."""

import re

_INSTRUCTION = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?([\w.]+)\s+(.*?)\s*;")
_UNIFORM = re.compile(r"\bUR(\d+)\b")
# Descriptors take several registers, of which an instruction need not read the first.
_DESCRIPTOR = re.compile(r"desc\[UR\d+\]")
# What the first operand is that an instruction writes; others only read uniform registers.
_WRITERS = re.compile(r"(U(?!TMA|BLK)[A-Z0-9]+|S2UR|R2UR|LDCU|C?REDUX|VOTEU|CS2UR)(\.|$)")
_WIDTHS = {".64": 2, ".WIDE": 2, ".128": 4}


def unwritten_registers(listing: str) -> list[str]:
    """The uniform registers that a kernel reads, and nothing in it writes; `listing` is nvdisasm's.

    ptxas 12.8 makes such code of some products (`rewrites/known_miscompiles.py`), whose results
    are wrong.
    """
    written: set[int] = set()
    read: set[int] = set()
    for operation, operands in _INSTRUCTION.findall(listing):
        operands = _DESCRIPTOR.sub("", operands)
        registers = [int(number) for number in _UNIFORM.findall(operands)]
        first = _UNIFORM.match(operands)
        if first is not None and _WRITERS.match(operation):
            width = max((w for suffix, w in _WIDTHS.items() if suffix in operation), default=1)
            written |= set(range(registers[0], registers[0] + width))
            registers = registers[1:]
        read |= set(registers)
    return [f"UR{number}" for number in sorted(read - written)]
