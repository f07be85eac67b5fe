"""Which tensors a tile program stores to, and which of these it also reads: they need clones."""

import ast
from dataclasses import dataclass

from rewrites.facts import Program
from rewrites.tree import base_name, function_of, is_whole, names_in, walk
from tile2triton.ops import OPERATORS


@dataclass(frozen=True)
class Stored:
    """Numbers of the parameters: those stored to, and those whose old contents matter then."""

    stored: tuple[int, ...]
    restored: tuple[int, ...]


def stored_tensors(program: Program) -> Stored:
    """What running the program changes among its arguments.

    What is not known to be a read counts as a store too, so that no input is taken for unchanged.
    """
    tree = function_of(program.tree)
    if is_whole(tree):
        # What one of its results replaces, it may read as well.
        own = enumerate(program.facts.parameters)
        changed = tuple(index for index, name in own if name in program.facts.stored)
        return Stored(changed, changed)
    tensors = program.facts.tensors.keys()
    written: set[str] = set()
    read: set[str] = set()
    # The destinations of plain stores, which read nothing.
    destinations: set[int] = set()
    for node in walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]):
                written |= _base(target)
                destinations.add(id(target.value))
            case ast.Assign(value=value):
                # A name for a whole tensor: what becomes of it is not followed.
                written |= _bare(value) & tensors
            case ast.AugAssign(target=target):
                written |= _base(target)
                read |= _base(target)
            case ast.Call(func=ast.Attribute(attr=function)):
                call_written, call_destinations = _written_by(function, node)
                written |= call_written
                destinations |= call_destinations
    for node in walk(tree):
        if isinstance(node, ast.Name) and id(node) not in destinations:
            read.add(node.id)
    stored = [i for i, name in enumerate(program.facts.parameters) if name in written & tensors]
    names = program.facts.parameters
    return Stored(tuple(stored), tuple(i for i in stored if names[i] in read))


def _written_by(function: str, call: ast.Call) -> tuple[set[str], set[int]]:
    """What an operator stores to, and the destinations among it that it does not read."""
    operator = OPERATORS.get(function)
    if operator is None or operator.kind != "statement":
        is_read = operator is not None and not operator.writes
        return (set() if is_read else names_in(call)), set()
    if not operator.writes:
        return names_in(call), set()
    arguments = operator.arguments(call)
    target = arguments[operator.writes]
    base = target.value if isinstance(target, ast.Subscript) else target
    return _base(target), set() if operator.keeps(arguments) else {id(base)}


def _base(target: ast.expr) -> set[str]:
    name = base_name(target)
    return set() if name is None else {name}


def _bare(tree: ast.expr) -> set[str]:
    """The names in it that are not indexed."""
    indexed = {id(node.value) for node in walk(tree) if isinstance(node, ast.Subscript)}
    return {n.id for n in walk(tree) if isinstance(n, ast.Name) and id(n) not in indexed}
