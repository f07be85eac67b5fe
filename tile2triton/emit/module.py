"""The emitted module: docstring, imports, kernels, named constants, launcher and its checks."""

import ast
import os
import textwrap

from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import literal, stmts
from rewrites.tree import names_in
from tile2triton.emit.arguments import checked_arguments
from tile2triton.emit.device_functions import device_functions
from tile2triton.emit.grid import fixed_grids
from tile2triton.emit.launcher import launcher
from tile2triton.emit.names import HostNames
from tile2triton.emit.patches import patch_block, patch_sentence
from tile2triton.printer import to_source

# What an import brings and the statement, in the order in which a module imports.
IMPORTS = (
    ("torch", "import torch"),
    ("triton", "import triton"),
    ("tl", "import triton.language as tl"),
    ("gluon", "from triton.experimental import gluon"),
    ("gl", "from triton.experimental.gluon import language as gl"),
    *(
        (one, f"from triton.experimental.gluon.language.amd import {one}")
        for one in ("cdna3", "cdna4")
    ),
    *(
        (one, f"from triton.experimental.gluon.language.nvidia.hopper import {one}")
        for one in ("fence_async_shared", "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait")
    ),
    (
        "TileDescriptor",
        "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as TileDescriptor",
    ),
    ("libdevice", "from triton.language.extra import libdevice"),
    ("TensorDescriptor", "from triton.tools.tensor_descriptor import TensorDescriptor"),
)

# Stages of warps, which Triton 3.6 lacks.
WARP_STAGE = """
class _Together:
    __triton_builtin__ = True

    def __init__(self, label, priority=0, _semantic=None):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


warp_stage = getattr(gl.amd, "warp_pipeline_stage", None) or _Together
"""


def emit(tree: ast.Module, facts: Facts) -> str:
    """The text of a module that needs triton and torch only.

    `tree` holds the lowered kernels. The module's function `facts.name` has the user's signature:
    it checks its arguments, allocates the outputs, launches and returns the outputs.
    """
    host = HostNames.of(facts)
    launch = launcher(facts, host, tree)
    grids = fixed_grids(facts, host)
    shown = _constants(facts, [launch, *grids])
    body = [
        *_versions(tree),
        *device_functions(tree.body),
        *tree.body,
        *patch_block(facts),
        *shown,
        *grids,
        *_gpu_count(facts, host),
        launch,
    ]
    body += checked_arguments(facts, host)
    header = ast.Expr(ast.Constant(_docstring(facts)))
    return to_source(ast.Module([header, *_imports(body), *body], []))


def _versions(tree: ast.Module) -> list[ast.stmt]:
    """Names that Gluon has changed between versions of Triton."""
    used = names_in(tree)
    made: list[ast.stmt] = []
    for ours, new, old in (
        ("load_tile", "async_load", "async_copy_global_to_shared"),
        ("store_tile", "async_store", "async_copy_shared_to_global"),
    ):
        if ours in used:
            made += stmts(f"{ours} = getattr(tma, {new!r}, None) or tma.{old}")
    if "sync_warps" in used:
        made += stmts("sync_warps = getattr(gl, 'barrier', None) or gl.thread_barrier")
    if made:
        made.insert(0, Comment("Their names in Triton 3.6 are others than later."))
    if "warp_stage" in used:
        said = "Triton 3.6 has no stages of warps: there all warps of a program go side by side."
        *needed, stage = stmts(WARP_STAGE)
        made += [*needed, Comment(said), stage]
    if "swizzle2d" in used:
        made += stmts("swizzle2d = gluon.jit(tl.swizzle2d.fn)")
    return made


def _docstring(facts: Facts) -> str:
    source = os.path.basename(facts.filename)
    lines = [f"{facts.name}: emitted from {source} by tile2triton."]
    settings = ", ".join(f"{key}={value}" for key, value in facts.settings.items())
    said = [f"Specialised for {settings}." if settings else "", patch_sentence(facts)]
    for text in filter(None, said):
        lines += ["", textwrap.fill(text, 88, break_long_words=False)]
    return "\n".join([*lines, ""] if any(said) else lines)


def _imports(body: list[ast.stmt]) -> list[ast.stmt]:
    used = names_in(ast.Module(body, []))
    made: list[ast.stmt] = []
    for brings, text in IMPORTS:
        if brings not in used:
            continue
        (statement,) = stmts(text)
        match made[-1:], statement:
            case [ast.ImportFrom(module=before) as last], ast.ImportFrom(module=module) if (
                before == module
            ):
                last.names += statement.names
            case _:
                made.append(statement)
    return made


def _constants(facts: Facts, readers: list[ast.stmt]) -> list[ast.stmt]:
    """The named constants that the launcher passes on or computes with."""
    used = set().union(*(names_in(reader) for reader in readers))
    said = "tile sizes may be tuned here"
    if any(launch.language == "gluon" for launch in facts.launches):
        # What consumers share was proved for these.
        said = "what is shared was proved for these"
    comment = Comment(f"The constants of the kernels; {said}.")
    result: list[ast.stmt] = [comment]
    for key, value in facts.constants.items():
        if key in used:
            result += stmts("target = value", target=key, value=literal(value))
    return result if len(result) > 1 else []


def _gpu_count(facts: Facts, host: HostNames) -> list[ast.stmt]:
    if not any(tensor.role == "input" for tensor in facts.tensors.values()):
        return []
    count = stmts("several = torch.cuda.device_count() > 1", several=host.several_gpus)
    return [Blank(), *count]
