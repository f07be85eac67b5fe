"""The addresses that LLVM's code for AMD computes for shared memory, thread by thread."""

import re
from collections import Counter

import numpy as np

from tile2triton.layouts import machines

_DEFINITION = re.compile(r"^(%[\w.-]+) = (.*)$")
_LOAD = re.compile(r"load (?:<(\d+) x (\w+)>|(\w+)), ptr addrspace\(3\) (%[\w.-]+|@\w+)")
_STORE = re.compile(r"store (?:<(\d+) x (\w+)>|(\w+)) [^,]*, ptr addrspace\(3\) (%[\w.-]+|@\w+)")
_TURNING = re.compile(r"ds\.read\.tr(\d+)\.b64.*\(ptr addrspace\(3\) (?:\w+ )*(%[\w.-]+)\)")
_OPERATION = re.compile(
    r"(and|or|xor|add|sub|mul|shl|lshr|ashr) (?:(?:disjoint|nuw|nsw|exact) )*i\d+ (\S+), (\S+)"
)
_CONSTANT_POINTER = re.compile(r"getelementptr \(i8, ptr addrspace\(3\) @\w+, i32 (\d+)\)")
_POINTER = re.compile(r"getelementptr (?:\w+ )*i8, ptr addrspace\(3\) (.*), i32 (\S+)$")
_CAST = re.compile(r"(?:zext|sext|trunc) (?:\w+ )*?i\d+ (\S+) to i\d+")
_PHI = re.compile(r"phi (?:i32|ptr addrspace\(3\)) (.*)$")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def wavefronts(code: str, threads: int, target: str) -> Counter:
    """Ideal and simulated wavefronts by instruction, as (name, "ideal") and (name, "simulated")."""
    values = _Values(code, threads)
    found: Counter = Counter()
    for line in _lines(code):
        if access := _access(line, target):
            instruction, pointer = access
            addresses = values.value(pointer).reshape(-1, 64)
            found[instruction.name, "ideal"] += instruction.ideal * len(addresses)
            found[instruction.name, "simulated"] += int(instruction.wavefronts(addresses).sum())
    return found


def _lines(code):
    return [re.sub(r", ![a-z].*$", "", line.strip()) for line in code.splitlines()]


def _access(line, target):
    for pattern, make in ((_LOAD, machines.load), (_STORE, machines.store)):
        if match := pattern.search(line):
            bits = _BITS[match[2] or match[3]]
            return make(target, int(match[1] or 1) * bits // 8, bits), match[4]
    if (match := _TURNING.search(line)) and not line.startswith("declare"):
        return machines.transposing_load(int(match[1])), match[2]
    return None


class _Values:
    """Values of names in all threads; what changes in a loop has the value of its first trip."""

    def __init__(self, code, threads):
        self.threads = np.arange(threads, dtype=np.int64)
        self.definitions = dict(
            match.groups() for line in _lines(code) if (match := _DEFINITION.match(line))
        )
        self.known = {}
        self.pending = set()

    def value(self, name):
        if re.fullmatch(r"-?\d+", name):
            return np.full_like(self.threads, int(name))
        if match := _CONSTANT_POINTER.match(name):
            return np.full_like(self.threads, int(match[1]))
        if name.startswith("@"):
            return np.zeros_like(self.threads)
        if name not in self.known:
            if name in self.pending or name not in self.definitions:
                raise LookupError(name)
            self.pending.add(name)
            try:
                self.known[name] = self.computed(self.definitions[name])
            finally:
                self.pending.remove(name)
        return self.known[name]

    def computed(self, text):
        if "workitem.id.x" in text:
            return self.threads
        if match := re.search(r"readfirstlane\.i32\(i32 (\S+)\)", text):
            return np.repeat(self.value(match[1])[::64], 64)
        if match := _OPERATION.match(text):
            first, second = self.value(match[2]), self.value(match[3])
            return _OPERATIONS[match[1]](first, second)
        if match := _POINTER.match(text):
            return self.value(match[1]) + self.value(match[2])
        if match := _CAST.match(text):
            return self.value(match[1])
        if match := re.match(r"select i1 (\S+), \w+ (\S+), \w+ (\S+)$", text):
            return np.where(self.value(match[1]), self.value(match[2]), self.value(match[3]))
        if match := re.match(r"icmp (?:samesign )?(eq|ne) i32 (\S+), (\S+)$", text):
            equal = self.value(match[2]) == self.value(match[3])
            return equal if match[1] == "eq" else ~equal
        if match := _PHI.match(text):
            for name in re.findall(r"\[ (.*?), %[\w.-]+ \]", match[1]):
                try:
                    return self.value(name)
                except LookupError:
                    continue
        raise LookupError(text)


_OPERATIONS = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "ashr": np.right_shift,
}
