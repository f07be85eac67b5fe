"""Kernels whose consumers compute while a producer loads: from Triton's language to Gluon."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from rewrites.facts import Facts, Launch
from rewrites.gluon.consumer import Consumer
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.limits import require_memory, require_registers
from rewrites.gluon.parts import Parts, parts_of
from rewrites.gluon.persistent import persistent_of
from rewrites.gluon.producer import produced
from rewrites.gluon.ranges import chain_of
from rewrites.gluon.sites import Sites
from rewrites.quote import copy_tree, expr, literal, name, stmts
from rewrites.rotate import rotated_kernel
from rewrites.tree import names_in, walk

# Registers of a thread: of consumers beside the first, and of the producer's one warp.
CONSUMER_REGISTERS, PRODUCER_REGISTERS = 240, 24


@dataclass
class Specialized:
    """The functions of a kernel, the kernel last, and its launch."""

    functions: list[ast.FunctionDef]
    launch: Launch
    constants: dict[str, int]

    @property
    def stages(self) -> str:
        """How far tiles come ahead, as the launch says it."""
        return ", ".join(f"{name}={value}" for name, value in self.constants.items())


def specialized(
    kernel: ast.FunctionDef, launch: Launch, facts: Facts, consumers: int
) -> Specialized:
    """The kernel in Gluon. Raises UnsuitedError."""
    is_asked = "consumers" in facts.schedule.nodes
    if not is_asked:
        _require_tried(kernel)
    turned = rotated_kernel(copy_tree(kernel), facts, is_late=is_asked)
    parts = parts_of(kernel, launch, facts, consumers, turned.body)
    chain = chain_of(parts)
    persistent = persistent_of(parts, chain, launch, facts)
    sites = Sites(parts, is_persistent=persistent is not None)
    require_memory(parts)
    require_registers(parts)
    producer = produced(parts, sites, chain)
    consumer = Consumer(parts, sites, chain).written()
    if persistent is not None:
        consumer = persistent.over(consumer, sites.counters)
        producer = persistent.over(producer, sites.counters)
    stages = sites.stages
    base = kernel.name.removesuffix("_kernel")
    extents = [] if persistent is None else [*persistent.extents]
    if parts.pairing is not None:
        extents.append(parts.pairing.extent)
    parameters, constants = _parameters(kernel, parts, extents)
    constants.add(stages)
    known = [*parameters, *sites.memories, stages]
    allocations = sites.allocations()
    functions: list[ast.FunctionDef] = []
    calls: list[ast.expr] = []
    for role, body, copies in (("consumer", consumer, consumers), ("producer", producer, 0)):
        function = parts.names.fresh(f"{base}_{role}")
        read = names_read(body)
        taken = [one for one in known if one in read]
        own = [sites.part, *taken] if copies else taken
        functions.append(_function(function, own, constants | {sites.part}, body))
        given: list[ast.expr] = [name(one) for one in taken]
        each = [[literal(part), *given] for part in range(copies)] or [given]
        calls += [expr("(f, a)", f=function, a=ast.Tuple(one, ast.Load())) for one in each]
    workers = [launch.num_warps] * (consumers - 1) + [1]
    registers = [CONSUMER_REGISTERS] * (consumers - 1) + [PRODUCER_REGISTERS]
    body = [
        *allocations,
        *stmts("fence_async_shared()"),
        ast.Expr(
            expr(
                "gl.warp_specialize(calls, workers, registers)",
                calls=ast.List(calls, ast.Load()),
                workers=ast.List([literal(one) for one in workers], ast.Load()),
                registers=ast.List([literal(one) for one in registers], ast.Load()),
            )
        ),
    ]
    read = names_read([*functions, *body])
    used = [one for one in [*parameters, stages] if one in read]
    functions.append(_function(kernel.name, used, constants, body))
    grid = list(launch.grid)
    if persistent is not None:
        grid = list(persistent.launched)
    elif parts.pairing is not None:
        grid = parts.pairing.shared_out(grid, consumers, "triton")
    made = Launch(
        kernel=launch.kernel,
        grid=tuple(grid),
        arguments=tuple(one for one in used if one not in constants),
        constants=tuple(one for one in used if one in constants),
        num_warps=launch.num_warps,
        num_stages=launch.num_stages,
        descriptors=launch.descriptors,
        options=launch.options,
        language="gluon",
    )
    return Specialized(functions, made, {stages: parts.stages})


def _parameters(
    kernel: ast.FunctionDef, parts: Parts, extents: list[ast.expr]
) -> tuple[list[str], set[str]]:
    """The names a kernel may be given, numbers last, and which are known when it is compiled.

    Others than its own are those of `extents`.
    """
    given = [one.arg for one in kernel.args.args]
    constants = {one.arg for one in kernel.args.args if one.annotation is not None}
    more = sorted(set().union(*map(names_in, extents)) - {*given, "gl"})
    constants |= {one for one in more if one in parts.facts.constants}
    names = [*given, *more]
    return sorted(names, key=lambda one: one in constants), constants


def _require_tried(kernel: ast.FunctionDef) -> None:
    """Without being asked, only forms are taken that have run on a chip."""
    for node in walk(kernel):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("tl.reduce", "tl.store") or called.startswith("libdevice."):
                raise UnsuitedError(f"`{called}` is taken where T.warp_specialize asks for it only")


def _function(
    called: str, parameters: list[str], constants: set[str], body: list[ast.stmt]
) -> ast.FunctionDef:
    (made,) = stmts("@gluon.jit\ndef f(): pass")
    assert isinstance(made, ast.FunctionDef)
    made.name = called
    constexpr = expr("gl.constexpr")
    made.args.args = [
        ast.arg(one, copy_tree(constexpr) if one in constants else None) for one in parameters
    ]
    made.body = body
    return made


def names_read(body: Sequence[ast.stmt]) -> set[str]:
    """All names in statements."""
    return set().union(*map(names_in, body))
