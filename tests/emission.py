"""Facts and stub kernels, to test emitted launchers without a GPU."""

import ast
import types
from collections.abc import Sequence

from rewrites.facts import Descriptor, Facts, Launch, Tensor
from rewrites.quote import expr, stmts
from tile2triton.emit import emit


def tensor(name: str, shape: str, dtype: str = "float16", role: str = "input") -> Tensor:
    """`tensor("A", "M, K")`"""
    sizes = tuple(expr(size) for size in shape.split(", ") if size)
    return Tensor(name, sizes, dtype, role)


def facts_of(
    name: str,
    tensors: Sequence[Tensor],
    grid: str,
    *,
    constants: dict[str, int | float | bool] | None = None,
    dims: dict[str, tuple[str, int]] | None = None,
    scalars: dict[str, str] | None = None,
    parameters: Sequence[str] | None = None,
    descriptors: Sequence[Descriptor] = (),
) -> Facts:
    """The facts of a program with one launch of `<name>_kernel`, given every tensor and number."""
    scalars, dims, constants = scalars or {}, dims or {}, constants or {}
    inputs = [item.name for item in tensors if item.role == "input"]
    facts = Facts(name, f"/home/somebody/{name}.py", tuple(parameters or [*inputs, *scalars]))
    facts.tensors = {item.name: item for item in tensors}
    facts.outputs = tuple(item.name for item in tensors if item.role == "output")
    facts.constants, facts.dims = constants, dims
    facts.scalars = scalars | dict.fromkeys(dims, "int32")
    described = {made.tensor: made.name for made in descriptors}
    arguments = [described.get(item.name, item.name) for item in tensors]
    launch = Launch(
        f"{name}_kernel",
        tuple(expr(extent) for extent in grid.split("; ")),
        (*arguments, *dims, *scalars),
        tuple(constants),
        num_warps=4,
        num_stages=3,
        descriptors=tuple(descriptors),
    )
    facts.launches = [launch]
    return facts


def gemm(**sizes: int) -> Facts:
    """GEMM of run-time sizes, or of the given ones."""
    tensors = (tensor("A", "M, K"), tensor("B", "K, N"), tensor("C", "M, N", role="output"))
    dims = {} if sizes else {"M": ("A", 0), "K": ("A", 1), "N": ("B", 1)}
    blocks = {"block_M": 128, "block_N": 128, "block_K": 32}
    grid = "triton.cdiv(N, block_N); triton.cdiv(M, block_M)"
    return facts_of("gemm", tensors, grid, constants=blocks | sizes, dims=dims)


def emitted(facts: Facts, body: str = "pass") -> str:
    """The module's text; every launch gets a kernel with `body`."""
    kernels = []
    for launch in facts.launches:
        annotated = [f"{key}: tl.constexpr" for key in launch.constants]
        parameters = ", ".join([*launch.arguments, *annotated])
        kernels += stmts(f"@triton.jit\ndef {launch.kernel}({parameters}): {body}")
    return emit(ast.Module(kernels, []), facts)


class StubKernel:
    """Stands for a Triton kernel; remembers every launch of it."""

    def __init__(self) -> None:
        self.launches: list[tuple[tuple, tuple, dict]] = []

    def __getitem__(self, grid):
        def launch(*arguments, **options):
            self.launches.append((grid, arguments, options))

        return launch


def loaded(facts: Facts, body: str = "pass") -> types.ModuleType:
    """The emitted module, executed, with stubs for its kernels."""
    module = types.ModuleType(facts.name)
    text = emitted(facts, body).replace("@triton.jit\n", "@(lambda function: function)\n")
    exec(compile(text, f"<{facts.name}>", "exec"), module.__dict__)
    for launch in facts.launches:
        setattr(module, launch.kernel, StubKernel())
    return module
