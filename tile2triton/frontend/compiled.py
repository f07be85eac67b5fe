"""A kernel that is ready: its Triton source, and the launcher that calling it goes to."""

from __future__ import annotations

import ast
import copy
import dataclasses
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewrites.errors import RewriteError
from rewrites.facts import Facts, Program, is_specialized
from rewrites.gluon.module import Mixed, specialize
from rewrites.tree import function_of, is_whole
from tile2triton import targets
from tile2triton.diagnostics import from_rewrite_error
from tile2triton.emit import emit
from tile2triton.frontend.options import Options
from tile2triton.frontend.tile_module import tile_module
from tile2triton.hints.pass_configs import NO_TMA, enabled
from tile2triton.hints.settle import note_specialized
from tile2triton.observing import observer, refusals_of
from tile2triton.pipeline import lower
from tile2triton.printer import to_source
from tile2triton.simulation.check import FAULT, broken_protocols
from tile2triton.tilelang.kernel import TileLangKernel

if TYPE_CHECKING:
    from tile2triton.tune.report import TuningReport

DEFAULT_TARGET = "cuda:90"


class CompiledKernel(TileLangKernel):
    """One kernel for one target. Calling it launches; the first call imports Triton.

    `triton_source` is the stand-alone module, `program` the tile program it was made from. Creating
    one raises `TileError` with everything that is wrong with the kernel.
    """

    # What became of every configuration where the kernel was tuned.
    tuning_report: TuningReport | None = None

    def __init__(self, program: Program, options: Options) -> None:
        self.options = options
        self.program = program
        self.target = options.target or default_target()
        self.name = program.facts.name
        program.facts.hints["pass_configs"] = enabled(options.pass_configs)
        annotated = program.facts.hints.get("annotate_pass_configs", {}).get("configs")
        if NO_TMA in (*enabled(options.pass_configs), *enabled(annotated)):
            program.facts.hints["descriptors"] = False
        with refusals_of(self.name):
            self.triton_source, self.lowered_facts = self.emitted_for(self.target)
        self._lock = threading.Lock()
        follower = observer()
        if follower is not None:
            follower.made(self)

    def emitted_for(self, target: str) -> tuple[str, Facts]:
        """The Triton source for a target, and what lowering found out for it."""
        tree, facts = self.lowered_for(target)
        return emit(tree, facts), facts

    def lowered_for(self, target: str) -> tuple[ast.Module, Facts]:
        """The kernels for a target as a tree, which `emit` makes a module of."""
        facts = self._facts_for(target)
        tree = self._lowered(facts, target)
        if not is_specialized(facts):
            return tree, facts
        lowered, mixed = specialize((tree, facts), lambda: self._plain_for(target))
        broken = broken_protocols(*lowered)
        if broken:
            faults = {kernel: f"{FAULT} {said}" for kernel, said in broken.items()}
            lowered, mixed = self._plain_for(target), Mixed(reasons={**mixed.reasons, **faults})
        stages = {name: one.stages for name, one in mixed.made.items()}
        note_specialized(lowered[1], facts.schedule, stages, mixed.reasons)
        return lowered

    def plain_source(self) -> str:
        """The same in plain Triton, which the interpreter runs where kernels are in Gluon."""
        return emit(*self._plain_for(self.target))

    def _plain_for(self, target: str) -> tuple[ast.Module, Facts]:
        facts = self._facts_for(target)
        facts.wants_gluon = False
        return self._lowered(facts, target), facts

    def _facts_for(self, target: str) -> Facts:
        """The facts for one lowering, with what the schedule says for the target."""
        facts = _own(self.program.facts)
        if self.options.schedule is not None:
            facts.schedule = self.options.schedule.for_target(target)
        return facts

    def save(self, path: str | Path) -> Path:
        """Write the stand-alone module to a file; it needs triton and torch only."""
        path = Path(path)
        path.write_text(self.triton_source, encoding="utf-8")
        return path

    def after(self, name: str) -> str:
        """The program as it is after the pass of that name; "trace" is before the first.

        The tile program that one on whole operands becomes is a module that can be gone on with.
        """
        tree = self._lowered(self._facts_for(self.target), self.target, after=name)
        if name == "tile_operands" and is_whole(function_of(self.program.tree)):
            return tile_module(tree, self.lowered_facts)
        return to_source(tree)

    def tile_program(self) -> Program:
        """The tile program that is lowered: with grids, and as the schedule has it."""
        facts = self._facts_for(self.target)
        return Program(self._lowered(facts, self.target, after="apply_schedule"), facts)

    def reference(self, *arrays: Any) -> Any:
        """What the kernel means, on NumPy arrays: its output, a tuple of several, or None."""
        from tile2triton.reference import run

        # How many threads a warp has is a question of the target.
        facts = dataclasses.replace(self.program.facts, target=self.target)
        outputs = run(Program(self.program.tree, facts), arrays)
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        """Launch on CUDA tensors, or interpret on CPU tensors, and return the outputs."""
        return self.launcher()(*tensors, **keywords)

    def launcher(self, shapes_are_known: bool = False) -> Callable[..., Any]:
        """The emitted launcher; from now on it is what calling this object runs, at no cost.

        Or one for tensors of shapes and types that it has taken before, which compares neither.
        """
        with self._lock:
            found = self.__dict__.get("_launcher")
            if found is None:
                found = self.__dict__["_launcher"] = self._loaded()
                # Python looks `__call__` up in the type, so the object gets a type of its own.
                body = {"__call__": staticmethod(found), "__doc__": type(self).__doc__}
                self.__class__ = type("CompiledKernel", (CompiledKernel,), body)
        if not shapes_are_known:
            return found
        from tile2triton.runtime import for_known_shapes

        return for_known_shapes(found)

    def __repr__(self) -> str:
        return f"<tile2triton kernel {self.name} for {self.target}>"

    def _loaded(self) -> Callable[..., Any]:
        follower = observer()
        if follower is not None:
            return follower.load(self)
        from tile2triton.runtime import load

        if any(one.language == "gluon" for one in self.lowered_facts.launches):
            return load(self.triton_source, self.name, self.plain_source)
        return load(self.triton_source, self.name)

    def _lowered(self, facts: Facts, target: str, after: str | None = None) -> ast.Module:
        try:
            return lower(Program(self.program.tree, facts), target, after)
        except RewriteError as error:
            raise from_rewrite_error(error, facts.filename) from None


def default_target() -> str:
    """The GPU of this process where torch has been imported and sees one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return DEFAULT_TARGET
    if getattr(torch.version, "hip", None):
        found = "hip:" + torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
    else:
        major, minor = torch.cuda.get_device_capability()
        found = f"cuda:{major}{minor}"
    # Of an architecture that is not in the table, the nearest that is stands in.
    return found if found in targets.BY_NAME else DEFAULT_TARGET


def _own(facts: Facts) -> Facts:
    """A copy for one lowering, which may add to it."""
    copies = {
        field.name: copy.copy(getattr(facts, field.name)) for field in dataclasses.fields(facts)
    }
    return Facts(**copies)
