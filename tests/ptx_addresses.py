"""The addresses that PTX computes for shared memory, thread by thread, without a GPU.

Only what leads from `%tid.x` to an address is evaluated: a register that is written in a loop,
or from memory, has no value here.
"""

import re
from collections import Counter

import numpy as np

_DEFINITION = re.compile(r"^([a-z][\w.]*)\s+(%\w+), (.*);$")
_ACCESS = re.compile(
    r"^(ldmatrix|stmatrix|ld\.shared|st\.shared)([\w.]*)\s.*?\[(%?\w+)(?:\+(-?\d+))?\]"
)
# A symbol's address: what it is does not matter for banks, as it is aligned.
_SYMBOL = np.zeros(1, dtype=np.int64)
_MASK = 0xFFFFFFFF


def wavefronts(ptx: str, threads: int) -> Counter:
    """Wavefronts of all warps for each kind of access, up to the last product."""
    registers = _Registers(ptx, threads)
    found: Counter = Counter()
    end = ptx.rindex("mma.sync")
    for line in map(str.strip, ptx[:end].splitlines()):
        if match := _ACCESS.match(line):
            addresses = registers.value(match[3]) + int(match[4] or 0)
            found[match[1]] += _wavefronts(match[1], match[2], addresses)
    return found


def _wavefronts(name: str, rest: str, addresses: np.ndarray) -> int:
    width, lanes = _width(name, rest)
    total = 0
    for first in range(0, len(addresses), lanes):
        words = {
            int(address) // 4 + word
            for address in addresses[first : first + lanes]
            for word in range(max(1, width // 4))
        }
        total += max(Counter(word % 32 for word in words).values())
    return total


def _width(name: str, rest: str) -> tuple[int, int]:
    """The bytes of a lane, and how many lanes are served together."""
    if name.endswith("matrix"):
        assert ".x4" in rest, "smaller ones use the addresses of some lanes only"
        return 16, 8
    match = re.search(r"(?:\.v(\d))?\.b(\d+)$", rest)
    assert match is not None
    width = int(match[1] or 1) * int(match[2]) // 8
    return width, {16: 8, 8: 16}.get(width, 32)


class _Registers:
    """Values of registers in all threads, from their definitions."""

    def __init__(self, ptx: str, threads: int) -> None:
        self.threads = np.arange(threads, dtype=np.int64)
        # On two ways to one place the same value may be computed twice.
        self.definitions: dict[str, set[tuple[str, str]]] = {}
        for line in map(str.strip, ptx.splitlines()):
            if match := _DEFINITION.match(line):
                self.definitions.setdefault(match[2], set()).add((match[1], match[3]))
        self.known: dict[str, np.ndarray] = {}

    def value(self, name: str) -> np.ndarray:
        if name == "%tid.x":
            return self.threads
        if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", name):
            return np.full_like(self.threads, int(name, 0))
        if not name.startswith("%"):
            return np.zeros_like(self.threads) + _SYMBOL
        if name not in self.known:
            first, *others = (
                self.computed(operation, [self.value(operand) for operand in operands.split(", ")])
                & _MASK
                for operation, operands in sorted(self.definitions[name])
            )
            assert all((first == other).all() for other in others), f"{name} has two values"
            self.known[name] = first
        return self.known[name]

    def computed(self, operation: str, values: list[np.ndarray]) -> np.ndarray:
        match operation.split("."):
            case ["mov" | "cvt" | "cvta", *_]:
                return values[0]
            case ["and", _]:
                return values[0] & values[1]
            case ["or", _]:
                return values[0] | values[1]
            case ["xor", _]:
                return values[0] ^ values[1]
            case ["neg", _]:
                return -values[0]
            case ["not", _]:
                return ~values[0]
            case ["shl", _]:
                return values[0] << values[1]
            case ["shr", _]:
                return values[0] >> values[1]
            case ["add", _]:
                return values[0] + values[1]
            case ["sub", _]:
                return values[0] - values[1]
            case ["mul", "lo", _]:
                return values[0] * values[1]
            case ["mad", "lo", _]:
                return values[0] * values[1] + values[2]
            case ["bfe", kind]:
                field = values[0] >> values[1] & ((1 << values[2]) - 1)
                sign = (field >> (values[2] - 1) & 1) if kind == "s32" else 0
                return field - (sign << values[2])
            case ["lop3", *_]:
                return self.table(values)
        raise AssertionError(f"{operation} is not evaluated")

    def table(self, values: list[np.ndarray]) -> np.ndarray:
        """lop3: the fourth operand has a bit for each combination of the others' bits."""
        result = np.zeros_like(values[0])
        for at in range(8):
            if int(values[3][0]) >> at & 1:
                bits = [
                    value if at >> 2 - place & 1 else ~value
                    for place, value in enumerate(values[:3])
                ]
                result |= bits[0] & bits[1] & bits[2]
        return result
