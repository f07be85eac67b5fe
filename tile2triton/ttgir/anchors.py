"""Which variable of a kernel each load and each dot is, found again through all passes.

Triton keeps the name of a variable beside the operation that was assigned to it. Where that is
`x = tl.load(p).reshape(16, 16)`, it is beside the reshape, and is moved to the load here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from triton._C.libtriton import ir

from ..sites import SUFFIX, SiteName, is_meant, site_name, variable_of
from .patching import Module

LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
DOTS = ("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot")
KINDS = {**dict.fromkeys(LOADS, "load"), **dict.fromkeys(DOTS, "dot")}
# What may stand between a variable and what was loaded or multiplied into it.
_SHAPES = ("tt.reshape", "tt.trans", "tt.broadcast", "tt.expand_dims", "ttg.convert_layout")
_NAME = re.compile(rf'loc\("([A-Za-z_]\w*{SUFFIX})"\(')
_LINE = re.compile(r'":(\d+):\d+\)')


def name_of(value: Any) -> str:
    """The variable that a value was assigned to; "" where it was part of an expression."""
    found = _NAME.match(str(value.get_loc()))
    return found[1] if found else ""


def move_names(module: Module) -> None:
    """Give each load and dot the name of the variable that it ends up in."""
    made = {result.id(): operation for operation, result in _results(module)}
    for operation, result in _results(module):
        name = name_of(result)
        if name and operation.get_name() not in KINDS and _passes_on(operation.get_name()):
            _name_sources(operation, result.get_loc(), made)


def count_operations(module: Module) -> Counter[tuple[str, str]]:
    """How often each variable, and each of its sites, is a load or a dot: (kind, name) → number."""
    return Counter(
        (KINDS[operation.get_name()], name)
        for operation, result in _results(module)
        if operation.get_name() in KINDS
        for name in {name_of(result), variable_of(name_of(result))}
    )


def name_sites(wanted: Iterable[str], module: Module) -> None:
    """Name single loads and dots of variables that have several, where such a name is wanted.

    They are told apart by their lines, as Triton first writes the kernel: what a loop that is
    unrolled repeats is one. Where there are not as many as the name says, nothing has that name.
    """
    variables = {one.variable for one in map(site_name, wanted) if one is not None}
    if not variables:
        return
    move_names(module)
    found: dict[tuple[str, str], dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for operation, result in _results(module):
        kind, place = KINDS.get(operation.get_name()), _LINE.search(str(result.get_loc()))
        if kind and place and name_of(result) in variables:
            found[kind, name_of(result)][int(place[1])].append(result)
    builder = ir.builder(module.context)
    for (_, variable), lines in found.items():
        for number, line in enumerate(sorted(lines), 1):
            name = str(SiteName(variable, number, len(lines)))
            for result in lines[line]:
                result.set_loc(builder.create_name_loc(name, result.get_loc()))


def _results(module: Module) -> Iterator[tuple[Any, Any]]:
    """Every operation that has a result, and the first one."""
    operations: list[Any] = []
    module.walk(operations.append)
    for operation in operations:
        if operation.get_num_results():
            yield operation, operation.get_result(0)


def _passes_on(operation: str) -> bool:
    return operation in _SHAPES or operation.startswith(("arith.", "math.", "tt.fp_to_fp"))


def _name_sources(operation: Any, location: Any, made: dict[int, Any]) -> None:
    for index in range(operation.get_num_operands()):
        source = made.get(operation.get_operand(index).id())
        if source is None or name_of(source.get_result(0)):
            # An argument, or another variable.
            continue
        if source.get_name() in KINDS:
            source.get_result(0).set_loc(location)
        elif _passes_on(source.get_name()):
            _name_sources(source, location, made)


def named(module: Module, kind: str, name: str) -> list[Any]:
    """The operations "load" or "dot" of a variable, in the order of the kernel."""
    return [
        operation
        for operation, result in _results(module)
        if KINDS.get(operation.get_name()) == kind and is_meant(name_of(result), name)
    ]


def in_loops(module: Module, operations: list[Any]) -> list[Any]:
    """Those of the operations that stand in the body of a loop itself."""
    bodies: set[int] = set()

    def remember(operation: Any) -> None:
        if operation.get_name() == "scf.for":
            bodies.add(operation.get_region(0).id())

    module.walk(remember)
    return [one for one in operations if one.get_block().get_parent().id() in bodies]


def set_integer(module: Module, operation: Any, attribute: str, number: int) -> None:
    """Give an operation a number of 32 bits; others, Triton's passes do not read."""
    value = ir.builder(module.context).get_int32_attr(number)
    operation.get_result(0).set_attr(attribute, value)


def set_module_text(module: Module, attribute: str, text: str) -> None:
    """Give the module itself a text."""
    module.set_attr(attribute, ir.builder(module.context).get_string_attr(text))
