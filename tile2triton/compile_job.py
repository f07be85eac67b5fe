"""From facts to what Triton must be told about each kernel: types, constants, alignment."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rewrites.dtypes import BY_NAME
from rewrites.facts import Facts, Launch
from rewrites.open_kernels import ROUNDED

from .targets import Target

# What the JIT finds for tensors that torch allocates, and for sizes that are multiples of 16.
DIVISIBLE = ("tt.divisibility", 16)
# The JIT says this on AMD for tensors below 2 GiB; buffer instructions need it.
SMALL = ("tt.pointer_range", 32)


@dataclass(frozen=True)
class Job:
    """One kernel to compile for one target; everything in it can be written as JSON."""

    path: str
    kernel: str
    target: str
    types: tuple[str, ...]
    # The named constants, after the other parameters and in their order.
    constants: dict[str, Any]
    # The element types of the tensors, by TileLang's names.
    elements: tuple[str, ...]
    attributes: dict[int, list[tuple[str, int]]]
    options: dict[str, Any]
    # Whether what the compiler makes is wanted as text.
    is_listed: bool = False
    # Whether the module asks for patches of the kernel, and whether they are tried in a process of
    # their own, so that one at which the compiler ends is left out.
    is_patched: bool = False
    is_careful: bool = False


def jobs(path: str, facts: Facts, target: Target, is_listed: bool = False) -> Iterator[Job]:
    """One job a launch: arguments first, named constants after them, as kernels declare them."""
    for launch in facts.launches:
        types = tuple(_type(name, launch, facts) for name in launch.arguments)
        yield Job(
            path=path,
            kernel=launch.kernel,
            target=target.name,
            types=types,
            constants={name: facts.constants[name] for name in launch.constants},
            elements=tuple(sorted(_tensor_elements(launch, facts))),
            attributes={index: list(_attributes(kind, target)) for index, kind in enumerate(types)},
            options={
                "num_warps": launch.num_warps,
                "num_stages": launch.num_stages,
                **launch.options,
            },
            is_listed=is_listed,
            is_patched=any(patch.kernel == launch.kernel for patch in facts.patches),
        )


def _type(name: str, launch: Launch, facts: Facts) -> str:
    for descriptor in launch.descriptors:
        if descriptor.name == name:
            element = _element(facts.tensors[descriptor.tensor].dtype)
            block = ", ".join(str(_static(extent, facts)) for extent in descriptor.block)
            return f"tensordesc<{element}[{block}]>"
    if name in facts.tensors:
        return f"*{_element(facts.tensors[name].dtype)}"
    if name in facts.scalars:
        dtype = facts.scalars[name]
        # Python's floats enter a kernel as float32 where the parameter has no type.
        return "fp32" if dtype in ROUNDED else _element(dtype)
    assert name in facts.dims, f"`{name}` of {launch.kernel} is no tensor, scalar or dim"
    return "i32"


def _tensor_elements(launch: Launch, facts: Facts) -> set[str]:
    described = {descriptor.name: descriptor.tensor for descriptor in launch.descriptors}
    tensors = (facts.tensors.get(described.get(name, name)) for name in launch.arguments)
    return {tensor.dtype for tensor in tensors if tensor is not None}


def _attributes(kind: str, target: Target) -> Iterator[tuple[str, int]]:
    if kind.startswith("*") or kind in ("i32", "i64"):
        yield DIVISIBLE
    if kind.startswith("*") and target.backend == "hip":
        yield SMALL


def _element(dtype: str) -> str:
    """Triton's short name of an element type."""
    row = BY_NAME[dtype]
    if row.kind == "bool":
        return "i1"
    if row.kind in ("int", "uint"):
        return f"{row.kind[0]}{row.bits}"
    return row.triton.replace("bfloat", "bf").replace("float", "fp")


def _static(tree: ast.expr, facts: Facts) -> int:
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<block>", "eval")
    return int(eval(code, {"__builtins__": {}}, dict(facts.constants)))
