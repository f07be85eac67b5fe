"""The launcher: the function of the emitted module that a user calls."""

import ast
import itertools

from rewrites.dtypes import is_float as is_float_dtype
from rewrites.facts import Descriptor, Facts, Launch, Tensor
from rewrites.gluon.amd.chips import CHIPS
from rewrites.nodes import Comment
from rewrites.quote import expr, literal, name, stmts
from rewrites.tensors import strides
from rewrites.tree import walk
from tile2triton.emit.arguments import allocated_dtype, read_and_check
from tile2triton.emit.grid import computed_grid, may_be_empty, may_be_negative
from tile2triton.emit.names import HostNames, input_tensors, scalar_parameters

# The address of what a TMA descriptor describes must be a multiple of this many bytes.
ALIGNMENT = 16


def launcher(facts: Facts, host: HostNames, tree: ast.Module) -> ast.FunctionDef:
    """`def <facts.name>(<facts.parameters>)`: check, allocate, launch, return the outputs."""
    body: list[ast.stmt] = [ast.Expr(ast.Constant(_docstring(facts)))]
    body += read_and_check(facts, host)
    body += _on_the_right_gpu(facts, host)
    for tensor in facts.tensors.values():
        if tensor.role not in ("input", "view"):
            body += _allocation(tensor, facts)
    described: set[str] = set()
    has_descriptors = any(launch.descriptors for launch in facts.launches)
    written = written_descriptors(tree) if has_descriptors else set()
    for launch in facts.launches:
        body += _launch(launch, facts, host, written, described)
    if facts.outputs:
        body.append(_return(facts))
    (function,) = stmts("def launcher(): pass")
    assert isinstance(function, ast.FunctionDef)
    function.name = facts.name
    function.args.args = [ast.arg(key) for key in facts.parameters]
    function.body = body
    return function


def _docstring(facts: Facts) -> str:
    """What goes in and what comes out, as types."""
    given = _described(facts.parameters, facts)
    made = _described(facts.outputs, facts)
    line = ", ".join(given) + (" -> " + ", ".join(made) if made else "")
    if len(line) < 88 - 4 - 2 * 3:
        return f"{line}." if line else "Launch the kernel."
    lines = ["Arguments:", *given] if given else []
    lines += ["Results:", *made] if made else []
    indented = (entry if entry.endswith(":") else f"    {entry}" for entry in lines)
    return "\n    ".join([*indented, ""])


def _described(names: tuple[str, ...], facts: Facts) -> list[str]:
    """`A, B: (M, K) float16` for each run of names that are alike."""
    result = []
    for kind, alike in itertools.groupby(names, lambda key: _kind(key, facts)):
        result.append(f"{', '.join(alike)}: {kind}")
    return result


def _kind(key: str, facts: Facts) -> str:
    tensor = facts.tensors.get(key)
    return f"{ast.unparse(_shape(tensor))} {tensor.dtype}" if tensor else facts.scalars[key]


def _shape(tensor: Tensor) -> ast.expr:
    return ast.Tuple(list(tensor.shape), ast.Load())


def _on_the_right_gpu(facts: Facts, host: HostNames) -> list[ast.stmt]:
    """Call the launcher again where the first tensor's GPU is not the current one."""
    tensors = input_tensors(facts)
    if not tensors:
        return []
    again = ast.Call(name(facts.name), [name(key) for key in facts.parameters], [])
    return stmts(
        "if several and x.get_device() not in (-1, torch.cuda.current_device()):\n"
        "    with torch.cuda.device(x.device):\n"
        "        return again",
        several=host.several_gpus,
        x=name(tensors[0].name),
        again=again,
    )


def _allocation(tensor: Tensor, facts: Facts) -> list[ast.stmt]:
    given = input_tensors(facts)
    shape = _shape(tensor)
    kind = allocated_dtype(tensor)
    alike = [other for other in given if other.dtype == tensor.dtype and not tensor.made_as]
    for other in alike:
        if ast.unparse(_shape(other)) == ast.unparse(shape):
            value = expr("torch.empty_like(other)", other=name(other.name))
            break
    else:
        if alike:
            value = expr("other.new_empty(shape)", other=name(alike[0].name), shape=shape)
        elif given:
            value = expr(
                "other.new_empty(shape, dtype=kind)",
                other=name(given[0].name),
                shape=shape,
                kind=kind,
            )
        else:
            value = expr(
                "torch.empty(shape, dtype=kind, device='cuda' if gpu else 'cpu')",
                shape=shape,
                kind=kind,
                gpu=expr("torch.cuda.is_available()"),
            )
    return stmts("target = value", target=tensor.name, value=value)


def _launch(
    launch: Launch, facts: Facts, host: HostNames, written: set[str], described: set[str]
) -> list[ast.stmt]:
    body = computed_grid(launch, facts, host)
    grid = name(host.grid_of(launch, facts))
    if may_be_negative(launch, facts):
        text = "if min(grid) < 0:\n    raise ValueError(f'negative extents in the grid {grid}')"
        body += stmts(text, grid=grid)
    new = [made for made in launch.descriptors if made.name not in described]
    described |= {made.name for made in new}
    call = _alignments(new, facts, written)
    call += _alignments_for_copies(launch, facts)
    call += [_descriptor(made, facts, launch.language) for made in new]
    call.append(_call(launch, facts, grid))
    if not may_be_empty(launch, facts):
        return body + call
    if len(facts.launches) == 1:
        leave = _return(facts) if facts.outputs else ast.Return(None)
        return [*body, ast.If(expr("0 in grid", grid=grid), [leave], []), *call]
    return [*body, ast.If(expr("0 not in grid", grid=grid), call, [])]


def _call(launch: Launch, facts: Facts, grid: ast.expr) -> ast.stmt:
    arguments: list[ast.expr] = []
    for key in launch.arguments:
        is_float = key in scalar_parameters(facts) and is_float_dtype(facts.scalars[key])
        # An int would make Triton compile the parameter as an integer.
        arguments.append(expr("float(x)", x=name(key)) if is_float else name(key))
    keywords = [ast.keyword(key, name(key)) for key in launch.constants]
    keywords.append(ast.keyword("num_warps", literal(launch.num_warps)))
    keywords.append(ast.keyword("num_stages", literal(launch.num_stages)))
    keywords += [ast.keyword(key, literal(value)) for key, value in launch.options.items()]
    kernel = expr("kernel[grid]", kernel=name(launch.kernel), grid=grid)
    return ast.Expr(ast.Call(kernel, arguments, keywords))


def _alignments(descriptors: list[Descriptor], facts: Facts, written: set[str]) -> list[ast.stmt]:
    """Inputs at odd addresses are copied to good ones, unless the kernel writes to them."""
    refusals: list[ast.stmt] = []
    copies: list[ast.stmt] = []
    kept = {facts.tensors[made.tensor].storage for made in descriptors if made.name in written}
    for key in dict.fromkeys(facts.tensors[made.tensor].storage for made in descriptors):
        if facts.tensors[key].role != "input":
            continue
        if key in kept:
            words = f"{key} must start at a multiple of {ALIGNMENT} bytes; pass {key}.clone()"
            refusals += stmts(
                f"if x.data_ptr() % {ALIGNMENT}:\n    raise ValueError({words!r})", x=name(key)
            )
        else:
            copies += stmts(f"if x.data_ptr() % {ALIGNMENT}:\n    x = x.clone()", x=key)
    if copies:
        copies.insert(0, Comment(f"TMA reads from multiples of {ALIGNMENT} bytes only."))
    return refusals + copies


def _alignments_for_copies(launch: Launch, facts: Facts) -> list[ast.stmt]:
    """What AMD's chips copy past registers is read from good addresses, and never written to."""
    if launch.language != "gluon" or facts.target not in CHIPS or not CHIPS[facts.target].direct:
        return []
    made: list[ast.stmt] = []
    for key in launch.copied:
        tensor = facts.tensors[facts.tensors[key].storage]
        if tensor.role == "input":
            made += stmts(f"if x.data_ptr() % {ALIGNMENT}:\n    x = x.clone()", x=tensor.name)
    if made:
        said = f"Copies past registers read from multiples of {ALIGNMENT} bytes only."
        made.insert(0, Comment(said))
    return made


def _descriptor(made: Descriptor, facts: Facts, language: str) -> ast.stmt:
    """The TMA descriptor of a contiguous tensor; Gluon's says how tiles lie in shared memory."""
    tensor = facts.tensors[made.tensor]
    steps = strides(tensor)
    (result,) = stmts(
        "target = TensorDescriptor(tensor, shape, strides, block)",
        target=made.name,
        tensor=name(tensor.storage),
        shape=ast.List([tensor.shape[d] for d in made.order], ast.Load()),
        strides=ast.List([steps[d] or ast.Constant(1) for d in made.order], ast.Load()),
        block=ast.List(list(made.block), ast.Load()),
    )
    if language == "gluon":
        layout = expr(
            "gl.NVMMASharedLayout.get_default_for(block, kind)",
            block=ast.List(list(made.block), ast.Load()),
            kind=expr(f"gl.{tensor.dtype}"),
        )
        assert isinstance(result, ast.Assign) and isinstance(result.value, ast.Call)
        result.value.func = name("TileDescriptor")
        result.value.args.append(layout)
    return result


def written_descriptors(tree: ast.Module) -> set[str]:
    """The names on which a kernel calls a method that writes."""
    return {
        node.func.value.id
        for node in walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.attr.startswith(("store", "scatter", "atomic"))
    }


def _return(facts: Facts) -> ast.stmt:
    values: list[ast.expr] = [name(key) for key in facts.outputs]
    return ast.Return(values[0] if len(values) == 1 else ast.List(values, ast.Load()))
