"""Make each `T.Kernel` block a Triton kernel: program ids, parameters, grid, raster order.

before:
    block_N = 64
    def double(A: T.Tensor((256,), "float32"), C: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            offs_n = bx * block_N + tl.arange(0, block_N)
            tl.store(C + offs_n, tl.load(A + offs_n))

after:
    @triton.jit
    def double_kernel(A, C, block_N: tl.constexpr):
        bx = tl.program_id(0)
        offs_n = bx * block_N + tl.arange(0, block_N)
        tl.store(C + offs_n, tl.load(A + offs_n))
"""

import ast

from rewrites.dtypes import BY_NAME
from rewrites.environment import environment_of, next_power_of_two
from rewrites.errors import refuse
from rewrites.facts import Facts, Launch
from rewrites.hint_notes import note
from rewrites.lower_program import block_variables
from rewrites.nodes import Blank, Comment
from rewrites.quote import expr, name, place, stmts
from rewrites.ranges import Range
from rewrites.tree import function_of, names_in, operator_call
from rewrites.values import triton_dtype

HOST_FUNCTIONS = {"ceildiv": "triton.cdiv", "cdiv": "triton.cdiv", "min": "min", "max": "max"}
# What Triton makes of Python's floats and bools by itself.
PASSED = ("float32", "bool")
ROUNDED = ("bfloat16", *(row.name for row in BY_NAME.values() if row.name.startswith("float8")))
# The launch of Triton 3.6 takes no negative int8.
PASSED_AS = {"int8": "int32"}


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Replace the program's function by its kernels and fill `facts.launches`."""
    function = function_of(tree)
    blocks = [node for node in function.body if isinstance(node, ast.With)]
    facts.launches = []
    kernels = []
    for index, block in enumerate(blocks):
        suffix = "" if len(blocks) == 1 else f"_{index + 1}"
        kernels.append(_open(block, f"{facts.name}_kernel{suffix}", facts))
    return ast.Module(list(kernels), [])


def _open(block: ast.With, kernel: str, facts: Facts) -> ast.FunctionDef:
    call = block.items[0].context_expr
    assert isinstance(call, ast.Call)
    variables = block_variables(block)
    body, swizzle = _take_swizzle(block.body)
    body = _program_ids(variables, swizzle, facts) + body
    used = set().union(*(names_in(statement) for statement in body))
    pads = _pads(used, facts)
    used |= {pad.removesuffix("_pad") for pad in pads}
    definitions = [
        statement
        for pad in pads
        for statement in stmts(
            "pad: tl.constexpr = triton.next_power_of_2(extent)",
            pad=pad,
            extent=name(pad.removesuffix("_pad")),
        )
    ]
    typed = {n: dtype for n, dtype in _typed_arguments(body, facts).items() if n in used}
    definitions += _cast_arguments(typed)
    arguments = tuple(n for n in _run_time_names(facts) if n in used)
    constants = tuple(n for n in facts.constants if n in used)
    launch = Launch(kernel=kernel, arguments=arguments, constants=constants)
    launch.grid = tuple(host_expression(extent) for extent in call.args)
    launch.num_warps = _warps(call, facts)
    _note_launch(call, launch, swizzle, len(variables), facts)
    launch.descriptors = tuple(d for d in facts.descriptors.values() if d.name in used)
    facts.launches.append(launch)
    parameters = [ast.arg(argument, _annotation(typed.get(argument))) for argument in arguments]
    parameters += [ast.arg(constant, expr("tl.constexpr")) for constant in constants]
    function = ast.FunctionDef(
        name=kernel,
        args=ast.arguments([], parameters, None, [], [], None, []),
        body=definitions + body,
        decorator_list=[expr("triton.jit")],
    )
    return place(function, block)


def _note_launch(
    call: ast.Call, launch: Launch, swizzle: ast.Call | None, rank: int, facts: Facts
) -> None:
    """Say what became of the threads and of the order of programs that a kernel asks for."""
    for keyword in call.keywords:
        if keyword.arg == "threads" and not facts.stored:
            construct = f"T.Kernel(…, threads={ast.unparse(keyword.value)})"
            note(facts, call, construct, "native", f"`num_warps={launch.num_warps}` at the launch")
    if swizzle is not None and not facts.stored:
        how, said = "native", "`tl.swizzle2d` on the program ids"
        if rank < 2:
            how, said = "none", "the grid has one dimension, and so no panels"
        note(facts, swizzle, ast.unparse(swizzle), how, said)


def _annotation(dtype: str | None) -> ast.expr | None:
    if dtype is None or dtype in ROUNDED:
        return None
    return triton_dtype(PASSED_AS.get(dtype, dtype))


def host_expression(tree: ast.expr) -> ast.expr:
    """A grid extent as Python for the launcher."""

    class Host(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if function not in HOST_FUNCTIONS:
                raise refuse(
                    node,
                    "T2T316",
                    f"the grid extent `{ast.unparse(node)}` cannot be computed by the launcher",
                    hint="use + - * // %, T.ceildiv, T.min and T.max of sizes and parameters",
                )
            return ast.Call(expr(HOST_FUNCTIONS[function]), node.args, [])

    result = Host().visit(tree)
    assert isinstance(result, ast.expr)
    return result


def _program_ids(variables: list[str], swizzle: ast.Call | None, facts: Facts) -> list[ast.stmt]:
    """The block indices, renumbered in panels where T.use_swizzle asks for it."""
    if swizzle is None or len(variables) < 2:
        return [
            statement
            for axis, variable in enumerate(variables)
            for statement in stmts(f"target = tl.program_id({axis})", target=variable)
        ]
    arguments = facts.operators["use_swizzle"].arguments(swizzle)
    order = arguments["order"]
    x, y = variables[:2]
    template = "y, x = tl.swizzle2d(pid_y, pid_x, rows, columns, panel)"
    if isinstance(order, ast.Constant) and order.value == "column":
        template = "x, y = tl.swizzle2d(pid_x, pid_y, columns, rows, panel)"
    result = stmts("pid_x = tl.program_id(0)\npid_y = tl.program_id(1)")
    result.append(Comment("Blocks run in panels, so that neighbours share tiles in the L2 cache."))
    result += stmts(
        template,
        x=x,
        y=y,
        rows=expr("tl.num_programs(1)"),
        columns=expr("tl.num_programs(0)"),
        panel=arguments["panel_size"],
    )
    for axis, variable in enumerate(variables[2:], start=2):
        result += stmts(f"target = tl.program_id({axis})", target=variable)
    return result


def _take_swizzle(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.Call | None]:
    """T.use_swizzle renumbers the blocks of the whole kernel, wherever it stands."""
    swizzle = None
    rest: list[ast.stmt] = []
    for statement in body:
        call = operator_call(statement, "use_swizzle")
        if call is None:
            rest.append(statement)
            continue
        while rest and isinstance(rest[-1], (Comment, Blank)):
            rest.pop()
        enabled = [k.value for k in call.keywords if k.arg == "enable"]
        is_off = enabled and isinstance(enabled[0], ast.Constant) and not enabled[0].value
        swizzle = None if is_off else call
    return rest, swizzle


def _pads(used: set[str], facts: Facts) -> list[str]:
    """The names `<constant>_pad` in use."""
    return [f"{n}_pad" for n in facts.constants if f"{n}_pad" in used]


def _typed_arguments(body: list[ast.stmt], facts: Facts) -> dict[str, str]:
    """The types of arguments that Triton would give another, or none at all.

    It passes floats as float32 and integers as int32 where they fit, and makes an integer that is
    1 a Python number. A size is all that nearly always, and stays as it is where that is no matter.
    """
    typed = {n: dtype for n, dtype in facts.scalars.items() if n not in facts.dims}
    typed |= {n: d for n, d in facts.scalars.items() if n in facts.dims and d != "int32"}
    dims = _dims_that_one_changes(body, facts)
    typed |= {n: facts.scalars.get(n, "int32") for n in sorted(dims)}
    # An address may be given as a tensor, and is cast to a pointer either way.
    return {n: d for n, d in typed.items() if n not in facts.pointers and d not in PASSED}


def _cast_arguments(typed: dict[str, str]) -> list[ast.stmt]:
    """Numbers that the launch has in another type: it cuts bfloat16 off and has no fp8."""
    return [
        statement
        for argument, dtype in typed.items()
        if dtype in ROUNDED or dtype in PASSED_AS
        for statement in stmts("x = x.to(dtype)", x=argument, dtype=triton_dtype(dtype))
    ]


def _dims_that_one_changes(body: list[ast.stmt], facts: Facts) -> set[str]:
    """The sizes that are computed with where Python's numbers differ from Triton's.

    Python's have no methods, `//` and `%` round down, `~` makes -2 of True, and none wraps around.
    """
    dims = set(facts.dims)
    plain = dims | set(facts.constants) | {"tl"}
    naturals, ones = environment_of(facts), environment_of(facts)
    ones.ranges |= {n: Range(1, 1) for n in dims}
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            differs = True
            match node:
                case ast.Attribute(value=value, attr="to"):
                    pass
                case ast.UnaryOp(op=ast.Invert(), operand=value):
                    pass
                case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), left=left, right=right) as value:
                    differs = not all(naturals.range(x).is_natural for x in (left, right))
                case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.LShift()) as value:
                    differs = not ones.range(value).within(-(2**31), 2**31 - 1)
                case _:
                    continue
            names = names_in(value)
            if differs and names <= plain:
                found |= names & dims
    return found


def _run_time_names(facts: Facts) -> list[str]:
    """Everything that can be a run-time argument, in the launcher's order."""
    tensors = [n for n in facts.parameters if n in facts.tensors]
    tensors += [n for n, t in facts.tensors.items() if n not in tensors and t.role != "pointer"]
    sizes = [*facts.dims, *facts.strides]
    scalars = [n for n in facts.scalars if n not in sizes]
    return tensors + list(facts.descriptors) + sizes + scalars


def _warps(call: ast.Call, facts: Facts) -> int:
    """Warps (waves on AMD) for the block's threads, rounded up to a power of two."""
    given = [k.value for k in call.keywords if k.arg == "threads"]
    threads = 128
    if given:
        tree = given[0]
        parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        threads = 1
        for part in parts:
            interval = environment_of(facts).range(part)
            threads *= interval.low if interval.low is not None else 128
    width = 64 if facts.target.startswith("hip") else 32
    return max(1, next_power_of_two(-(-threads // width)))
