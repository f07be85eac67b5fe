"""What a kernel in Gluon has that others lack: partitions of warps, rings, layouts, conversions."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tile2triton.explaining.accessed import statements, tensor_of
from tile2triton.explaining.layout_words import described
from tile2triton.explaining.machine_text import instructions_by_line
from tile2triton.explaining.tiles import bytes_of, variables_by_line
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.predicted import exchanging
from tile2triton.ttgir_text.module import Module, read_module
from tile2triton.ttgir_text.tensor_types import alias_of

# What layouts are written as; those of shared memory are said beside what lies there.
_LAYOUTS = ("DistributedLayout", "DotOperandLayout", "BlockedLayout", "MFMALayout", "SliceLayout")
_WAYS = {
    "": "in the registers of each thread",
    "lane": "between the threads of a warp",
    "warp": "through shared memory",
}


@dataclass(frozen=True)
class Partition:
    """Warps that run `function`; `registers` are those that each thread asks for.

    The first partition asks for none: it gets what the others leave.
    """

    role: str
    function: str
    warps: int
    registers: int


@dataclass(frozen=True)
class Memory:
    """Shared memory that the kernel allocates.

    `use` is "ring", "loaded once", "on its way out", "factor" or "barriers"; there are `slots` of
    `shape` for each of `owners`, 1 where consumers share them. Barriers take so many `arrivals`.
    """

    variable: str
    use: str
    tensor: str
    shape: tuple[int, ...]
    element: str
    slots: int
    owners: int
    bytes: int
    layout: str
    arrivals: int = 0


@dataclass(frozen=True)
class Conversion:
    """A change of layout that the compiler has kept, and the way that elements take in it."""

    variable: str
    line: int
    way: str


@dataclass(frozen=True)
class Specialized:
    """A kernel in Gluon.

    `functions` have the instructions of each of them, in all partitions that run it; `written` says
    how many changes of layouts stand in the emitted kernel.
    """

    partitions: tuple[Partition, ...]
    memories: tuple[Memory, ...]
    layouts: Mapping[str, str]
    functions: Mapping[str, Mapping[str, int]]
    written: int
    conversions: tuple[Conversion, ...] = field(default_factory=tuple)


def read_specialized(
    kernel: str, ttgir: str, machine: str, path: str, text: str, is_nvidia: bool
) -> Specialized:
    """What the emitted module `text` in the file `path` and its compiled code say of a kernel."""
    functions = {one.name: one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
    main = functions[kernel]
    partitions = tuple(_partitions(main, functions))
    used = [main, *(functions[one] for one in dict.fromkeys(p.function for p in partitions))]
    module = read_module(ttgir)
    lines = {line: node.lineno for line, node in statements(text).items()}
    counts = instructions_by_line(machine, path, lines, is_nvidia)
    return Specialized(
        partitions=partitions,
        memories=tuple(_memories(used, partitions, module)),
        layouts=dict(_layouts(used)),
        functions={one.name: _within(one, counts) for one in used},
        written=sum(_called(node) == "gl.convert_layout" for one in used for node in ast.walk(one)),
        conversions=tuple(_conversions(module, path, lines)),
    )


def _partitions(
    main: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]
) -> Iterator[Partition]:
    """As `gl.warp_specialize` is told; none where all warps run the kernel."""
    for node in ast.walk(main):
        match node:
            case ast.Call(args=[ast.List(elts=calls), workers, registers]) if (
                _called(node) == "gl.warp_specialize"
            ):
                # The first has the warps of the launch.
                warps = [0, *ast.literal_eval(workers)]
                asked = [0, *ast.literal_eval(registers)]
                for number, (call, count, least) in enumerate(
                    zip(calls, warps, asked, strict=True)
                ):
                    assert isinstance(call, ast.Tuple)
                    called = ast.unparse(call.elts[0])
                    multiplies = "warpgroup_mma" in map(_called, ast.walk(functions[called]))
                    role = f"consumer {number}" if multiplies else "producer"
                    yield Partition(role, called, count, least)


def _memories(
    used: list[ast.FunctionDef], partitions: tuple[Partition, ...], module: Module
) -> Iterator[Memory]:
    allocated = {one.variable: one for one in module.operations if one.name == "ttg.local_alloc"}
    uses = _uses(used, {one.function for one in partitions if one.role == "producer"})
    consumers = sum(one.role != "producer" for one in partitions)
    arrivals = _arrivals(used[0])
    for variable, extent in _allocations(used[0]):
        if variable not in allocated:
            # Nothing of it is left.
            continue
        made = allocated[variable].types[-1]
        use, tensor = uses.get(variable, ("factor" if partitions else "ring", ""))
        if variable in arrivals:
            use, tensor = "barriers", ""
        is_shared = isinstance(extent, ast.Name)
        owners = 1 if is_shared else max(consumers, 1)
        layout = module.written_aliases.get(alias_of(made), "")
        yield Memory(
            variable=variable,
            use=use,
            tensor=tensor,
            shape=made.shape[1:],
            element=made.element,
            slots=made.shape[0] // owners,
            owners=owners,
            bytes=bytes_of(made.shape, made.element),
            layout="" if variable in arrivals else described(layout),
            arrivals=arrivals.get(variable, 0),
        )


def _allocations(main: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The names of shared memory, and how many tiles there are."""
    for node in ast.walk(main):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[_, ast.List(elts=[extent, *_]), *_]) as call,
            ) if _called(call) == "gl.allocate_shared_memory":
                yield name, extent


def _arrivals(main: ast.FunctionDef) -> dict[str, int]:
    """How many arrivals end a wait for each barrier."""
    return {
        _owner(node.args[0]): ast.literal_eval(node.keywords[0].value)
        for node in ast.walk(main)
        if isinstance(node, ast.Call) and _called(node) == "mbarrier.init"
    }


def _uses(used: list[ast.FunctionDef], producers: set[str]) -> dict[str, tuple[str, str]]:
    """What TMA does with shared memory, and to which tensor."""
    found: dict[str, tuple[str, str]] = {}
    for function in used:
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Name(id="load_tile"), args=[desc, _, _, memory]):
                    use = "ring" if function.name in producers else "loaded once"
                    found[_owner(memory)] = use, tensor_of(ast.unparse(desc))
                case ast.Call(func=ast.Name(id="store_tile"), args=[desc, _, memory]):
                    found[_owner(memory)] = "on its way out", tensor_of(ast.unparse(desc))
    return found


def _layouts(used: list[ast.FunctionDef]) -> Iterator[tuple[str, str]]:
    for function in used:
        for node in ast.walk(function):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call) if _called(
                    call
                ).endswith(_LAYOUTS):
                    yield name, ast.unparse(call).removeprefix("gl.")


def _within(function: ast.FunctionDef, counts: Mapping[int, Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for line, made in counts.items():
        if function.lineno <= line <= (function.end_lineno or line):
            found.update(made)
    return dict(sorted(found.items()))


def _conversions(module: Module, path: str, lines: Mapping[int, int]) -> Iterator[Conversion]:
    """Each statement's once: partitions that run one function have the same."""
    names = variables_by_line(module, path, lines)
    found: dict[int, str] = {}
    for one in module.operations:
        if one.name == "ttg.convert_layout":
            at = module.locations.line(one.written.location, path)
            try:
                way = _WAYS[exchanging(module, one)]
            except LayoutError:
                way = "in a way that is not known here"
            found.setdefault(lines.get(at, at), way)
    for line, way in sorted(found.items()):
        yield Conversion(names.get(line, ""), line, way)


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _owner(tree: ast.expr) -> str:
    """The memory that `memory.index(slot)` is of."""
    match tree:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="index")):
            return name
    return ast.unparse(tree)
