"""Put a traced program on whole operands together: its tensors, extents, results and names."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from rewrites.facts import Facts, Program, Tensor
from rewrites.operands.terms import Size
from rewrites.quote import literal
from rewrites.tree import walk
from tile2triton.frontend.assertions import assertions
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.failures import failure
from tile2triton.frontend.finish import type_tree
from tile2triton.frontend.positions import Position
from tile2triton.frontend.spans import of_node
from tile2triton.frontend.whole_operands import WholeOperand


@dataclass(frozen=True)
class Outline:
    """What is known of a tensor that a program is traced for."""

    shape: tuple[int, ...]
    dtype: str
    # The names of its extents, where an annotation gives them.
    names: tuple[str, ...] = ()


def least_alike(size: int) -> int:
    """The least extent for which tiles are as for this one."""
    return 1 << min(size.bit_length(), 15) - 1 if size else 0


def declared(builder: Builder, name: str, outline: Outline) -> WholeOperand:
    """The whole operand that a tensor is; extents of 1 are broadcast and have no name."""
    names = outline.names or tuple(f"{name}_{at}" for at in range(len(outline.shape)))
    shape = tuple(
        Size(value) if value == 1 or wanted.isdigit() else _named_size(builder, wanted, value)
        for value, wanted in zip(outline.shape, names, strict=True)
    )
    if outline.names:
        for size in shape:
            if size.name:
                builder.making.suggest(size, size.name, is_said=True)
    trees = tuple(size.tree for size in shape)
    builder.facts.tensors[name] = Tensor(name, trees, outline.dtype)
    builder.immutable.add(name)
    builder.bound[name] = builder.root
    whole = builder.making.tensor(name, shape, outline.dtype)
    return WholeOperand(ast.Name(name, ast.Load()), whole)


def _named_size(builder: Builder, wanted: str, value: int) -> Size:
    name, _ = builder.names.constant(wanted, value)
    builder.facts.constants[name] = value
    return Size(value, name)


def whole_program(
    builder: Builder, tree: ast.FunctionDef, tensors: list[str], result: Any
) -> Program:
    """The program of a function that returned `result`."""
    facts = builder.facts
    results = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    if result is None and builder.updates:
        # What is stored to parameters is all that it does.
        results = ()
    for one, place in zip(results, _places(builder, tree, len(results)), strict=True):
        _check_result(facts, one, place)
    facts.parameters = tuple(tensors)
    builder.flush()
    updated = {id(one): name for name, one in builder.updates.items()}
    made = tuple(one for one in results if id(one) not in updated)
    names, renamed = _outputs(builder, made)
    facts.stored = (*builder.updates, *names)
    others = iter(names)
    facts.outputs = tuple(updated.get(id(one)) or next(others) for one in results)
    values = [one.tree for one in (*builder.updates.values(), *made)]
    value = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    returned = ast.Return(value)
    builder.record(returned, of_node(_return(tree), facts.filename))
    builder.root.body[:0] = assertions(builder)
    program = _module(builder, tree)
    extents = _names_of_extents(builder)
    facts.named_sizes = frozenset(extents.get(one, one) for one in builder.making.said_names)
    _rename(program, {**renamed, **extents})
    return program


def _places(builder: Builder, tree: ast.FunctionDef, count: int) -> list[Position]:
    """Where each result stands in the user's function."""
    node = _return(tree)
    value: ast.expr | ast.stmt = getattr(node, "value", None) or node
    places = [value] * count
    if isinstance(value, ast.Tuple) and len(value.elts) == count:
        places = list(value.elts)
    return [of_node(one, builder.facts.filename) for one in places]


def _check_result(facts: Facts, value: Any, place: Position) -> None:
    """A result is a whole operand, and all of it."""
    if isinstance(value, Dead):
        raise value.refusal(place)
    if not isinstance(value, WholeOperand):
        is_plain = isinstance(value, (int, float, str, type(None)))
        shown = f"`{value!r}`" if is_plain else f"a `{type(value).__name__}`"
        raise failure(
            "T2T805",
            f"`{facts.name}` returns {shown}, which is no whole operand",
            hint="return what was computed from the tensors",
            at=place,
        )
    if value.whole.partial or any(size.tile for size in value.whole.shape):
        raise failure(
            "T2T855",
            f"`{facts.name}` returns `{value}`, which is a tile of a loop or made of one",
            hint="store the tiles to a whole operand, y[i:i + tile_size, :] = y_tile, and return "
            "that",
            at=place,
        )


def _outputs(
    builder: Builder, results: tuple[WholeOperand, ...]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """A tensor for each result, under the name that the user gave it."""
    facts = builder.facts
    outputs: list[str] = []
    renamed: dict[str, str] = {}
    for one in results:
        whole = one.whole
        own = one.tree.id if isinstance(one.tree, ast.Name) else "out"
        wanted = builder.wanted.get(own, own)
        name = wanted
        if wanted in facts.tensors or wanted == "out" or wanted in outputs:
            name = builder.names.claim("out")
        elif wanted not in renamed:
            renamed[wanted] = builder.names.claim(f"{wanted}_local")
        trees = tuple(_extent(builder, size) for size in whole.shape)
        facts.tensors[name] = Tensor(name, trees, whole.dtype, "output")
        outputs.append(name)
    return tuple(outputs), renamed


def _extent(builder: Builder, size: Size) -> ast.expr:
    name = builder.making.sizes.name_of(size.name)
    return ast.Name(name, ast.Load()) if name else literal(size.value)


def _return(tree: ast.FunctionDef) -> ast.stmt:
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return returns[-1] if returns else tree


def _module(builder: Builder, tree: ast.FunctionDef) -> Program:
    """The constants, then the function over its tensors."""
    facts = builder.facts
    arguments = [ast.arg(name, type_tree(facts, name)) for name in facts.tensors]
    function = ast.FunctionDef(
        name=facts.name,
        args=ast.arguments([], arguments, None, [], [], None, []),
        body=builder.root.body,
        decorator_list=[],
    )
    function.type_params = []  # type: ignore[attr-defined]
    function.returns = None
    function.type_comment = None
    ast.copy_location(function, tree)
    constants: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], literal(value))
        for name, value in facts.constants.items()
    ]
    return Program(ast.fix_missing_locations(ast.Module([*constants, function], [])), facts)


def _names_of_extents(builder: Builder) -> dict[str, str]:
    """One name for extents that are the same: the annotation's, or that of what it is used as."""
    sizes = builder.making.sizes
    suggested: dict[str, tuple[str, ...]] = {}
    for name, wanted in builder.making.suggested.items():
        suggested.setdefault(sizes.name_of(name), wanted)
    facts = builder.facts
    chosen: dict[str, str] = {}
    extents = [
        extent.id
        for tensor in facts.tensors.values()
        for extent in tensor.shape
        if isinstance(extent, ast.Name)
    ]
    # No name that an extent is to have is one that another had: each tree is renamed once.
    taken = {facts.name, *facts.constants, *facts.tensors, *extents}
    for name in dict.fromkeys(extents):
        first = sizes.name_of(name)
        if first not in chosen:
            wanted = suggested.get(first, _by_place(facts.tensors.values(), name))
            # An extent may keep the name that it has.
            free = next((one for one in wanted if one == first or one not in taken), wanted[0])
            count = 0
            while free in taken and free != first:
                count += 1
                free = f"{wanted[0]}_{count}"
            taken.add(free)
            chosen[first] = free
        chosen[name] = chosen[first]
    return chosen


def _by_place(tensors: Any, name: str) -> tuple[str, ...]:
    """Usual names of an extent that nothing is known of: by its place in a tensor."""
    for tensor in tensors:
        for at, extent in enumerate(tensor.shape):
            if isinstance(extent, ast.Name) and extent.id == name:
                rest = len(tensor.shape) - 1 - at
                return (("N", "E"), ("M", "L"), ("H", "G"), ("B",))[min(rest, 3)]
    return ("N",)


def _rename(program: Program, names: dict[str, str]) -> None:
    """Change names everywhere in a program."""
    facts = program.facts
    for node in walk(program.tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    for tensor in facts.tensors.values():
        for extent in tensor.shape:
            for node in ast.walk(extent):
                if isinstance(node, ast.Name):
                    node.id = names.get(node.id, node.id)
    facts.constants = {names.get(name, name): value for name, value in facts.constants.items()}
    seen: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in program.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                if name in seen:
                    continue
                seen.add(name)
        kept.append(statement)
    program.tree.body = kept
