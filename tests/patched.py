"""Kernels compiled with patches, for tests: in this process, or as an emitted module asks."""

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from rewrites.facts import Facts, Patch, Program
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tile2triton import CompiledKernel, transpile
from tile2triton.compile_job import Job, jobs
from tile2triton.emit import emit
from tile2triton.module_cache import write_module
from tile2triton.pipeline import lower
from tile2triton.runtime import import_module
from tile2triton.targets import target as row_of
from tile2triton.ttgir.evidence import count
from tile2triton.ttgir.patching import Request
from tile2triton.ttgir.stages import NAMES, chip_of, run_stage

Wanted = tuple[str, str, dict[str, Any]]


@functools.cache
def product(target: str, size: int = 1024, block: int = 128) -> CompiledKernel:
    """A GEMM that is quick to compile; its tiles are A_shared, B_shared and C_local."""
    sizes = dict.fromkeys("MNK", size)
    tiles = {"block_M": block, "block_N": block, "block_K": 32, "num_stages": 2}
    return transpile(gemm, target=target, **sizes, **tiles)


@functools.cache
def attention(target: str) -> CompiledKernel:
    """Its products are `scores` and `acc`, and it loads Q_shared, K_shared and V_shared."""
    tiles = {"block_M": 128, "block_N": 64}
    return transpile(flash_attention, 1, 2, 512, 64, False, target=target, **tiles)


def emitted(kernel: CompiledKernel, patches: Sequence[Patch] = ()) -> tuple[str, Facts]:
    """The text of a kernel that asks for patches, and its facts."""
    program = kernel.program
    facts = Facts(**{name: copy.copy(value) for name, value in vars(program.facts).items()})
    facts.schedule = kernel.lowered_facts.schedule
    tree = lower(Program(program.tree, facts), kernel.target)
    facts.patches = list(patches)
    return emit(tree, facts), facts


def asked(kernel: CompiledKernel, *wanted: Wanted) -> list[Patch]:
    """Those patches, as hints at lines 1, 2, … of a kernel's file."""
    _, facts = emitted(kernel)
    (launch,) = facts.launches
    return [
        Patch(kind, anchor, launch.kernel, f"T.hint({anchor})", line, tuple(arguments.items()))
        for line, (kind, anchor, arguments) in enumerate(wanted, 1)
    ]


def imported(kernel: CompiledKernel, *wanted: Wanted) -> tuple[ModuleType, Job]:
    """A new import of the emitted module, and how its kernel is compiled."""
    text, facts = emitted(kernel, asked(kernel, *wanted))
    path = write_module(text, facts.name)
    (job,) = jobs(str(path), facts, row_of(kernel.target))
    return import_module(text, Path(path)), job


def compiled(kernel: CompiledKernel, *wanted: Wanted) -> Any:
    """What Triton makes of the emitted module's kernel, hook and all."""
    return compile_imported(kernel, *imported(kernel, *wanted))


def compiled_as_emitted(kernel: CompiledKernel) -> Any:
    """The same with the patches that the transpiler adds by itself."""
    text = kernel.triton_source
    path = write_module(text, kernel.lowered_facts.name)
    (job,) = jobs(str(path), kernel.lowered_facts, row_of(kernel.target))
    return compile_imported(kernel, import_module(text, Path(path)), job)


def compile_imported(kernel: CompiledKernel, module: ModuleType, job: Job) -> Any:
    """What Triton makes of a kernel of an imported module."""
    goal = row_of(kernel.target)
    return triton.compile(
        _source(module, job),
        target=GPUTarget(goal.backend, goal.arch, goal.warp_size),
        options={**job.options, "enable_fp_fusion": True},
    )


@functools.cache
def stock(kernel: CompiledKernel) -> dict[str, int]:
    """Counts of a kernel's machine code without patches."""
    return patched(kernel)


def patched(kernel: CompiledKernel, *wanted: Wanted) -> dict[str, int]:
    """Counts with patches, of which each must be applicable, by the stages alone."""
    made = assembly(kernel, *wanted)
    return {**count(made), "shared memory": made["shared memory"]}


def assembly(kernel: CompiledKernel, *wanted: Wanted) -> dict[str, Any]:
    """The text of each stage, and the bytes of shared memory."""
    module, job = imported(kernel)
    goal = row_of(kernel.target)
    target = GPUTarget(goal.backend, goal.arch, goal.warp_size)
    backend = make_backend(target)
    options = backend.parse_options({**job.options, "enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    code = _source(module, job).make_ir(target, options, generation, modules, context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    requests = [Request(*one) for one in wanted]
    for name in NAMES:
        run = getattr(type(backend), name)

        def stage(code: Any, *rest: Any, name: str = name, run: Any = run) -> Any:
            return run_stage(name, run, code, rest, requests, chip_of(target, options))

        setattr(backend, name, stage)
    metadata: dict[str, Any] = {"target": target, **vars(options)}
    result: dict[str, Any] = {}
    for extension, stage_of in stages.items():
        code = stage_of(code, metadata)
        result[extension] = code if isinstance(code, (str, bytes)) else str(code)
    return {**result, "shared memory": metadata["shared"]}


def _source(module: ModuleType, job: Job) -> ASTSource:
    kernel = getattr(module, job.kernel)
    names, count_of = kernel.arg_names, len(job.types)
    types = [*job.types, *["constexpr"] * len(job.constants)]
    return ASTSource(
        kernel,
        dict(zip(names, types, strict=True)),
        constexprs=dict(zip(names[count_of:], job.constants.values(), strict=True)),
        attrs={(index,): given for index, given in job.attributes.items() if given},
    )
