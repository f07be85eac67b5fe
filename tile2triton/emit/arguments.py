"""The check of a launcher's arguments: one cheap condition, and words for the case it fails."""

import ast
from collections.abc import Callable, Iterable

from rewrites import dtypes
from rewrites.facts import Facts, Tensor
from rewrites.quote import expr, name, stmts
from rewrites.tree import names_in
from tile2triton.emit.names import HostNames, input_tensors, scalar_parameters

CHECKED = '''
def checked(name, tensor, sizes, wanted, dtype, device=None):
    """The sizes of an argument that fits; an error that says why another does not."""
    if not isinstance(tensor, torch.Tensor):
        found = "None" if tensor is None else type(tensor).__name__
        raise TypeError(f"{name} must be a torch.Tensor, found {found}")
    found = tuple(tensor.shape)
    if len(found) != len(wanted):
        raise ValueError(
            f"{name} must have {len(wanted)} dimensions, {sizes}, "
            + f"found {len(found)}: {found}"
        )
    if any(size not in (None, here) for size, here in zip(wanted, found)):
        values = tuple("any" if size is None else size for size in wanted)
        raise ValueError(f"{name} must be of shape {sizes} = {values}, found {found}")
    if tensor.dtype != dtype:
        raise TypeError(
            f"{name} must be {dtype}, found {tensor.dtype}; pass {name}.to({dtype})"
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"{name} must be contiguous, found strides {tensor.stride()}; "
            + f"pass {name}.contiguous()"
        )
    if device is not None and tensor.device != device:
        raise ValueError(
            f"{name} must be on {device}, found {tensor.device}; "
            + f"pass {name}.to('{device}')"
        )
    return found
'''


# The same for modules in which a tensor has strides of its own.
STRIDED = (
    CHECKED.replace("dtype, device=None)", "dtype, device=None, strides=None)")
    .replace("if not tensor.is_contiguous()", "if strides is None and not tensor.is_contiguous()")
    .replace(
        "    if device is not",
        """    if strides is not None and any(
        step not in (None, here) for step, here in zip(strides, tensor.stride())
    ):
        values = tuple("any" if step is None else step for step in strides)
        raise ValueError(f"{name} must have strides {values}, found {tensor.stride()}")
    if device is not""",
    )
)


def read_and_check(facts: Facts, host: HostNames) -> list[ast.stmt]:
    """Read the sizes from the arguments and refuse arguments that do not fit."""
    if not facts.parameters:
        return []
    reads = [stmt for tensor in input_tensors(facts) for stmt in _reads(tensor, facts)]
    reads += [stmt for size in facts.equations for stmt in _solved(size, facts)]
    conditions = list(_conditions(facts, host))
    body = reads
    if conditions:
        body += stmts("fits = all_of", fits=host.fits, all_of=_all(conditions))
    else:
        body += stmts("fits = True", fits=host.fits)
    errors = "AttributeError, IndexError, TypeError, ValueError"
    (guarded,) = stmts(f"try:\n    pass\nexcept ({errors}):\n    fits = False", fits=host.fits)
    assert isinstance(guarded, ast.Try)
    guarded.body = body
    passed = ast.Call(name(host.refuse), [name(key) for key in facts.parameters], [])
    return [guarded, *stmts("if not fits:\n    refuse", fits=host.fits, refuse=passed)]


def checked_arguments(facts: Facts, host: HostNames) -> list[ast.stmt]:
    """The functions that say which argument does not fit, and why."""
    if not facts.parameters:
        return []
    body = stmts('"""Say which argument does not fit, and why."""')
    for scalar in scalar_parameters(facts):
        body += _refuse_scalar(scalar, facts)
    first: Tensor | None = None
    known = {*facts.constants, *scalar_parameters(facts)}
    for tensor in _in_order_of_need(facts):
        body += _call_checked(tensor, first, known, facts, host)
        known |= set(_own_dims(tensor, facts).values())
        first = first or tensor
    for size in facts.equations:
        body += _refuse_unsolved(size, facts)
    known |= set(facts.equations)
    for tensor in input_tensors(facts):
        if _needs(tensor, facts) & set(facts.equations):
            body.append(ast.Expr(_checked_call(tensor, None, known, host)))
    reason = "a size of 2**31 or more does not fit" if facts.dims else "these arguments do not fit"
    body += stmts(f"raise ValueError('{reason} {facts.name}')")
    (refuse,) = stmts("def refuse(): pass", refuse=host.refuse)
    assert isinstance(refuse, ast.FunctionDef)
    refuse.name = host.refuse
    refuse.args.args = [ast.arg(key) for key in facts.parameters]
    refuse.body = body
    result: list[ast.stmt] = [refuse]
    if first is not None:
        has_strides = any(tensor.strides for tensor in input_tensors(facts))
        (checked,) = stmts(STRIDED if has_strides else CHECKED)
        assert isinstance(checked, ast.FunctionDef)
        checked.name = host.checked
        result.append(checked)
    return result


def torch_dtype(dtype: str) -> ast.expr:
    return expr(f"torch.{dtypes.BY_NAME[dtypes.ALIASES.get(dtype, dtype)].torch}")


def allocated_dtype(tensor: Tensor) -> ast.expr:
    """The torch type of a tensor that the launcher makes."""
    if not tensor.made_as:
        return torch_dtype(tensor.dtype)
    # An older torch lacks the best type.
    *better, kind = tensor.made_as
    tree = expr(f"torch.{kind}")
    for one in reversed(better):
        tree = expr(f"getattr(torch, {one!r}, other)", other=tree)
    return tree


def _own_dims(tensor: Tensor, facts: Facts) -> dict[int, str]:
    """The run-time sizes that are extents of this tensor, by axis."""
    return {
        axis: key
        for key, (source, axis) in facts.dims.items()
        if source == tensor.name and key not in facts.equations
    }


def _own_strides(tensor: Tensor, facts: Facts) -> dict[int, str]:
    """The run-time strides that are read from this tensor, by axis."""
    return {axis: key for key, (source, axis) in facts.strides.items() if source == tensor.name}


def _solved(size: str, facts: Facts) -> list[ast.stmt]:
    """The size for which an extent is what it is declared to be, if there is one."""
    source, axis = facts.dims[size]
    equation = facts.equations[size]
    value = expr(f"tensor.shape[{axis}]", tensor=name(source))
    if not (isinstance(equation.rest, ast.Constant) and equation.rest.value == 0):
        value = ast.BinOp(value, ast.Sub(), equation.rest)
    if equation.factor != 1:
        value = expr(f"value // {equation.factor}", value=value)
    return stmts("size = value", size=name(size), value=value)


def _is_unpacked(tensor: Tensor, facts: Facts) -> bool:
    return tensor.rank > 0 and len(_own_dims(tensor, facts)) == tensor.rank


def _reads(tensor: Tensor, facts: Facts) -> list[ast.stmt]:
    own = _own_dims(tensor, facts)
    if _is_unpacked(tensor, facts):
        names = ", ".join(own[axis] for axis in range(tensor.rank))
        target = f"({names},)" if tensor.rank == 1 else names
        lines = [f"{target} = tensor.shape"]
    else:
        lines = [f"{own[axis]} = tensor.shape[{axis}]" for axis in sorted(own)]
    strides = _own_strides(tensor, facts)
    lines += [f"{strides[axis]} = tensor.stride({axis})" for axis in sorted(strides)]
    return [stmt for line in lines for stmt in stmts(line, tensor=name(tensor.name))]


def _conditions(facts: Facts, host: HostNames) -> Iterable[ast.expr]:
    """Everything that must hold; tensors that must be alike share a comparison."""
    for scalar in scalar_parameters(facts):
        if scalar in facts.pointers:
            yield expr("isinstance(value, (int, torch.Tensor))", value=name(scalar))
            continue
        kind = dtypes.BY_NAME[facts.scalars[scalar]].kind
        test = "isinstance(value, (int, float))" if kind == "float" else "type(value) is kind"
        yield expr(test, value=name(scalar), kind=name("bool" if kind == "bool" else "int"))
        if kind in ("int", "uint"):
            low, high = _limits(facts.scalars[scalar])
            yield expr(f"{low} <= value < {high}", value=name(scalar))
    tensors = input_tensors(facts)
    shapes = [tensor for tensor in tensors if not _is_unpacked(tensor, facts)]
    yield from _alike(shapes, "shape", lambda tensor: ast.Tuple(list(tensor.shape), ast.Load()))
    yield from _alike(tensors, "dtype", lambda tensor: torch_dtype(tensor.dtype))
    for tensor in tensors:
        if tensor.strides:
            strides = ast.Tuple(list(tensor.strides), ast.Load())
            yield expr("tensor.stride() == strides", tensor=name(tensor.name), strides=strides)
        elif tensor.rank > 0:
            yield expr("tensor.is_contiguous()", tensor=name(tensor.name))
    # Indices have 32 bits; offsets, which are products of sizes, have 64 where they need them.
    for key in (*facts.dims, *facts.strides):
        limits = "0 <= size < 2**31" if key in facts.equations else "size < 2**31"
        yield expr(limits, size=name(key))
    if len(tensors) > 1:
        # With one GPU, Triton itself refuses a tensor that is not there; the check costs 0.4 us.
        devices = [expr("tensor.get_device()", tensor=name(tensor.name)) for tensor in tensors]
        yield expr("not several or same", several=name(host.several_gpus), same=_equal(devices))


def _alike(
    tensors: list[Tensor], attribute: str, wanted: Callable[[Tensor], ast.expr]
) -> Iterable[ast.expr]:
    groups: dict[str, list[ast.expr]] = {}
    expected: dict[str, ast.expr] = {}
    for tensor in tensors:
        value = wanted(tensor)
        key = ast.unparse(value)
        expected.setdefault(key, value)
        found = expr(f"tensor.{attribute}", tensor=name(tensor.name))
        groups.setdefault(key, []).append(found)
    for key, found_here in groups.items():
        yield _equal([*found_here, expected[key]])


def _equal(values: list[ast.expr]) -> ast.expr:
    return ast.Compare(values[0], [ast.Eq() for _ in values[1:]], values[1:])


def _all(conditions: list[ast.expr]) -> ast.expr:
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), conditions)


def _limits(dtype: str) -> tuple[str, str]:
    """The least integer of a type, and the first that is too large, as a person writes them."""
    row = dtypes.BY_NAME[dtype]
    if row.kind == "uint":
        return "0", f"2**{row.bits}"
    return f"-(2**{row.bits - 1})", f"2**{row.bits - 1}"


def _refuse_scalar(scalar: str, facts: Facts) -> list[ast.stmt]:
    if scalar in facts.pointers:
        return stmts(
            f"if not isinstance(value, (int, torch.Tensor)):\n"
            f"    raise TypeError(f'{scalar} must be an address or a tensor, "
            f"found {{type(value).__name__}}')",
            value=name(scalar),
        )
    kind = dtypes.BY_NAME[facts.scalars[scalar]].kind
    if kind == "float":
        test, words = "not isinstance(value, (int, float))", "a float"
    elif kind == "bool":
        test, words = "type(value) is not bool", "a bool"
    else:
        test, words = "type(value) is not int", "an int"
    refusals = (
        f"if {test}:\n"
        f"    raise TypeError(f'{scalar} must be {words}, found {{type(value).__name__}}')"
    )
    if kind in ("int", "uint"):
        low, high = _limits(facts.scalars[scalar])
        refusals += (
            f"\nif not {low} <= value < {high}:\n"
            f"    raise ValueError(f'{scalar} must fit {facts.scalars[scalar]}, found {{value}}')"
        )
    return stmts(refusals, value=name(scalar))


def _in_order_of_need(facts: Facts) -> list[Tensor]:
    """The input tensors, those first from which the sizes of others are read."""
    waiting = input_tensors(facts)
    known = {*facts.constants, *scalar_parameters(facts)}
    result: list[Tensor] = []
    while waiting:
        ready = (tensor for tensor in waiting if _needs(tensor, facts) <= known)
        chosen = next(ready, waiting[0])
        waiting.remove(chosen)
        known |= set(_own_dims(chosen, facts).values())
        result.append(chosen)
    return result


def _needs(tensor: Tensor, facts: Facts) -> set[str]:
    """The names in a tensor's shape that are not read from it."""
    used = set().union(*(names_in(size) for size in tensor.shape))
    return used - set(_own_dims(tensor, facts).values())


def _call_checked(
    tensor: Tensor, first: Tensor | None, known: set[str], facts: Facts, host: HostNames
) -> list[ast.stmt]:
    own = _own_dims(tensor, facts)
    call = _checked_call(tensor, first, known, host)
    if not own:
        return [ast.Expr(call)]
    targets = [own.get(axis, "_") for axis in range(tensor.rank)]
    target = f"({targets[0]},)" if tensor.rank == 1 else ", ".join(targets)
    result = stmts(f"{target} = call", call=call)
    if not _is_unpacked(tensor, facts) and not _needs(tensor, facts) - known:
        again = _checked_call(tensor, first, known | set(own.values()), host)
        if ast.unparse(again) != ast.unparse(call):
            # A size that occurs twice in the shape is known after the first look.
            result.append(ast.Expr(again))
    return result


def _refuse_unsolved(size: str, facts: Facts) -> list[ast.stmt]:
    """Solve for a size, and say where it comes out negative."""
    source, _ = facts.dims[size]
    shape = f"{{tuple({source}.shape)}}"
    words = f"{source} gives {size} = {{{size}}}, which is negative, found shape {shape}"
    refusal = stmts(f"if size < 0:\n    raise ValueError(f'{words}')", size=name(size))
    return [*_solved(size, facts), *refusal]


def _checked_call(
    tensor: Tensor, first: Tensor | None, known: set[str], host: HostNames
) -> ast.Call:
    sizes = ast.Tuple(list(tensor.shape), ast.Load())
    wanted = [size if names_in(size) <= known else ast.Constant(None) for size in tensor.shape]
    arguments: list[ast.expr] = [
        ast.Constant(tensor.name),
        name(tensor.name),
        ast.Constant(ast.unparse(sizes)),
        ast.Tuple(wanted, ast.Load()),
        torch_dtype(tensor.dtype),
    ]
    if first is not None:
        arguments.append(expr("tensor.device", tensor=name(first.name)))
    keywords = []
    if tensor.strides:
        steps = [step if names_in(step) <= known else ast.Constant(None) for step in tensor.strides]
        keywords.append(ast.keyword("strides", ast.Tuple(steps, ast.Load())))
    return ast.Call(name(host.checked), arguments, keywords)
