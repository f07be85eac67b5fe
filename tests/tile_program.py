"""Build a `Program` from a tile program that is written down in canonical form."""

import ast
import textwrap
from collections.abc import Mapping, Sequence

from rewrites import dtypes
from rewrites.facts import Facts, Program, Tensor, Tile
from tile2triton.ops import OPERATORS
from tile2triton.ops.static import static_value

TILES = ("alloc_shared", "alloc_fragment", "alloc_tmem", "alloc_local")


def parse_program(
    text: str,
    outputs: Sequence[str] = ("C",),
    dims: Mapping[str, tuple[str, int]] | None = None,
    workspaces: Sequence[str] = (),
    filename: str = "<kernel>",
) -> Program:
    """The program of `text`, with the facts that can be read from it.

    Constants are the assignments of the module, tensors the annotations, tiles and variables the
    allocations. `dims` says where run-time sizes come from; without it each is read from the first
    input tensor that has it as an extent.
    """
    tree = ast.parse(textwrap.dedent(text), filename)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    facts = Facts(name=function.name, filename=filename, operators=OPERATORS)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            assert isinstance(node.targets[0], ast.Name)
            value = static_value(node.value, facts)
            assert value is not None, ast.unparse(node)
            facts.constants[node.targets[0].id] = value
    names = []
    for argument in function.args.args:
        assert argument.annotation is not None, argument.arg
        tensor = _tensor(argument.arg, argument.annotation, outputs, workspaces)
        if tensor is None:
            facts.scalars[argument.arg] = _dtype(argument.annotation)
        else:
            facts.tensors[argument.arg] = tensor
        if tensor is None or tensor.role == "input":
            names.append(argument.arg)
    facts.parameters = tuple(names)
    facts.outputs = tuple(name for name in outputs if name in facts.tensors)
    facts.stored = facts.outputs
    facts.dims.update(_dims(facts) if dims is None else dims)
    facts.scalars.update(dict.fromkeys(facts.dims, "int32"))
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            _allocation(statement, statement.value, facts)
    return Program(tree, facts)


def _tensor(
    name: str, annotation: ast.expr, outputs: Sequence[str], workspaces: Sequence[str]
) -> Tensor | None:
    if not (isinstance(annotation, ast.Call) and ast.unparse(annotation.func) == "T.Tensor"):
        return None
    shape, dtype, *data = annotation.args
    assert isinstance(shape, ast.Tuple)
    if data:
        base = ast.unparse(data[0]).removesuffix(".data")
        return Tensor(name, tuple(shape.elts), _dtype(dtype), "view", base)
    role = "output" if name in outputs else "workspace" if name in workspaces else "input"
    return Tensor(name, tuple(shape.elts), _dtype(dtype), role)


def _dtype(tree: ast.expr) -> str:
    name = tree.value if isinstance(tree, ast.Constant) else ast.unparse(tree).removeprefix("T.")
    assert isinstance(name, str), ast.unparse(tree)
    assert name in dtypes.BY_NAME, name
    return name


def _dims(facts: Facts) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for tensor in facts.tensors.values():
        for axis, extent in enumerate(tensor.shape):
            named = isinstance(extent, ast.Name) and extent.id not in facts.constants
            if named and tensor.role == "input":
                assert isinstance(extent, ast.Name)
                if extent.id not in facts.scalars:
                    found.setdefault(extent.id, (tensor.name, axis))
    return found


def _allocation(statement: ast.Assign, call: ast.Call, facts: Facts) -> None:
    operator = ast.unparse(call.func).removeprefix("T.")
    if operator in ("reshape", "view"):
        _view(statement, OPERATORS[operator].arguments(call), facts)
    target = statement.targets[0]
    if operator == "alloc_barrier":
        assert isinstance(target, ast.Name)
        facts.barriers[target.id] = ast.literal_eval(call.args[0])
    if operator not in (*TILES, "alloc_var", "alloc_reducer"):
        return
    arguments = OPERATORS[operator].arguments(call)
    assert isinstance(target, ast.Name)
    if operator == "alloc_var":
        facts.variables[target.id] = _dtype(arguments["dtype"])
        return
    shape = arguments["shape"]
    trees = tuple(shape.elts) if isinstance(shape, ast.Tuple) else (shape,)
    sizes = []
    for tree in trees:
        size = static_value(tree, facts)
        # A bad extent is left for the operator's check to report.
        sizes.append(size if isinstance(size, int) else -1)
    scope = "shared" if operator == "alloc_shared" else "fragment"
    op = ast.literal_eval(arguments["op"]) if operator == "alloc_reducer" else ""
    dtype = _dtype(arguments["dtype"])
    facts.tiles[target.id] = Tile(target.id, tuple(sizes), trees, dtype, scope, op=op)


def _view(statement: ast.Assign, arguments: dict[str, ast.expr], facts: Facts) -> None:
    (target,) = statement.targets
    base = facts.tiles[ast.unparse(arguments["src"])]
    shape, dtype = arguments["shape"], arguments.get("dtype", ast.Constant(None))
    trees = tuple(shape.elts) if isinstance(shape, ast.Tuple) else base.trees
    sizes = tuple(int(static_value(tree, facts) or 0) for tree in trees)
    wanted = base.dtype if ast.unparse(dtype) == "None" else _dtype(dtype)
    name = ast.unparse(target)
    facts.tiles[name] = Tile(name, sizes, trees, wanted, base.scope, base.storage)
