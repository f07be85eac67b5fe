"""Which copies go through TMA descriptors: Hopper and newer, GEMM operands and plain outputs.

Operands are also the shared tiles from whose elements those of a GEMM are computed, and the shared
matrices that are combined with what a GEMM gives.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from rewrites.affine import is_multiple
from rewrites.dtypes import bits
from rewrites.environment import Environment, next_power_of_two
from rewrites.facts import Descriptor, Facts, Tensor
from rewrites.separate_accesses import overwritten
from rewrites.tree import base_name, names_in, walk

# CUDA's tensor maps: bytes of the base, of every stride but the last, of the inner block, and of
# where it begins in its row.
ALIGNMENT = 16
MAX_RANK = 5


@dataclass(frozen=True)
class DescriptorPlan:
    """Tensors that are only read, outputs that one T.copy stores, tiles that T.gemm needs.

    Such a T.copy stores no element twice: a loop around it moves it by its whole length.
    """

    loads: frozenset[str]
    stores: frozenset[str]
    operands: frozenset[str]


def plan_descriptors(function: ast.FunctionDef, facts: Facts) -> DescriptorPlan:
    """What the program's accesses allow; nothing where the target has no TMA."""
    if not has_tma(facts.target) or facts.hints.get("descriptors") is False:
        return DescriptorPlan(frozenset(), frozenset(), frozenset())
    written: set[str] = set()
    copied: dict[str, ast.stmt] = {}
    otherwise: set[str] = set()
    operands: set[str] = set()
    sums: set[str] = set()
    nodes = [(one, node) for one in function.body for node in walk(one)]
    for block, node in nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]) | ast.AugAssign(target=target):
                written.add(base_name(target) or "")
                otherwise |= names_in(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
                operator = facts.operators.get(name)
                if operator is None:
                    continue
                arguments = operator.arguments(call)
                destination = arguments.get(operator.writes)
                if destination is not None:
                    written.add(base_name(destination) or "")
                if operator.name == "gemm":
                    operands |= {base_name(arguments[side]) or "" for side in "AB"}
                    sums.add(base_name(arguments["C"]) or "")
                if operator.name == "copy":
                    stored = base_name(arguments["dst"]) or ""
                    # Two stores of a launch through tensor maps are not ordered among themselves.
                    if copied.get(stored) is block:
                        otherwise.add(stored)
                    copied[stored] = block
                    otherwise |= names_in(arguments["src"])
                else:
                    otherwise |= names_in(call)
            case ast.Assign(value=value):
                otherwise |= names_in(value)
            case ast.If(test=test) | ast.While(test=test):
                otherwise |= names_in(test)
    written_memory = {facts.tensors[n].storage for n in written & facts.tensors.keys()}
    inputs = {n for n, t in facts.tensors.items() if _is_input(t, facts)}
    inputs = {n for n in inputs if facts.tensors[n].storage not in written_memory}
    viewed = {tensor.base for tensor in facts.tensors.values()}
    outputs = {n for n, t in facts.tensors.items() if t.role == "output" and n not in viewed}
    stored_once = (outputs & copied.keys()) - otherwise
    if stored_once:
        stored_once -= overwritten(function, facts)
    return DescriptorPlan(
        frozenset(inputs),
        frozenset(stored_once),
        frozenset(_needed(operands, sums, function, facts)),
    )


def _needed(
    operands: set[str], sums: set[str], function: ast.FunctionDef, facts: Facts
) -> set[str]:
    """Operands, and the shared tiles that they are computed from, or combined with."""
    sources: dict[str, set[str]] = {}
    for node in walk(function):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel")), body=body):
                # Names that the loop gives to what it reads belong to all that it stores.
                read = {name for one in body for name in names_in(one)}
                for store in walk(node):
                    if isinstance(store, (ast.Assign, ast.AugAssign)):
                        targets = store.targets if isinstance(store, ast.Assign) else [store.target]
                        sources.setdefault(base_name(targets[0]) or "", set()).update(read)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called)) as call):
                if called in ("copy", "interleave", "transpose"):
                    target = facts.operators[called].arguments(call)["dst"]
                    sources.setdefault(base_name(target) or "", set()).update(names_in(call))
    found = operands | sums
    new = set(found)
    while new:
        new = {name for one in new for name in sources.get(one, ())} & facts.tiles.keys() - found
        found |= new
    shared = {name for name in found & facts.tiles.keys() if facts.tiles[name].scope == "shared"}
    return operands | {name for name in shared if facts.tiles[name].rank > 1}


def _is_input(tensor: Tensor, facts: Facts) -> bool:
    """A tensor that the caller passes, or a view of it with elements of its own type."""
    base = facts.tensors[tensor.storage]
    return base.role == "input" and base.dtype == tensor.dtype and not base.strides


def has_tma(target: str) -> bool:
    kind, _, arch = target.partition(":")
    return kind == "cuda" and arch.isdigit() and int(arch) >= 90


def descriptor_for(
    facts: Facts,
    environment: Environment,
    tensor: str,
    starts: Sequence[ast.expr],
    sizes: dict[int, int],
    extents: dict[int, ast.expr],
) -> Descriptor | None:
    """A descriptor for blocks of `tensor`, or None where a tensor map cannot hold them.

    `starts` says where a block begins; `sizes` and `extents` give the block in the dimensions where
    it is longer than 1.
    """
    declared = facts.tensors[tensor]
    inner = declared.rank - 1
    width = bits(declared.dtype) // 8
    if declared.rank > MAX_RANK or inner not in sizes or declared.dtype == "bool":
        return None
    if any(size != next_power_of_two(size) for size in sizes.values()):
        return None
    if sizes[inner] * width < ALIGNMENT:
        return None
    # Anywhere else, the GPU stops with an illegal instruction.
    if not is_multiple(starts[inner], ALIGNMENT // width, environment):
        return None
    stride = width
    for dimension in range(inner, 0, -1):
        interval = environment.range(declared.shape[dimension])
        if interval.low is None or interval.low != interval.high or interval.low == 0:
            return None
        stride *= interval.low
        if stride % ALIGNMENT:
            return None
    # Dimensions of extent 1 go first: a dot on a block (1, 128, 1, 128) was seen to go wrong, and
    # the same on (1, 1, 128, 128) right (`known_miscompiles.py`).
    order = tuple(sorted(range(declared.rank), key=lambda d: d in sizes))
    block = tuple(extents.get(d, ast.Constant(1)) for d in order)
    wanted = [ast.dump(extent) for extent in block]
    for known in facts.descriptors.values():
        same = known.tensor == tensor and known.order == order
        if same and [ast.dump(extent) for extent in known.block] == wanted:
            return known
    count = sum(known.tensor == tensor for known in facts.descriptors.values())
    name = f"{tensor}_desc" + (f"_{count}" if count else "")
    descriptor = Descriptor(name, tensor, order, block)
    facts.descriptors[name] = descriptor
    return descriptor
