"""Follows the kernels of a script: each is transpiled for every target, launching it runs none."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from rewrites import dtypes
from rewrites.facts import Facts
from tile2triton.checking.absent import Absent
from tile2triton.checking.events import Event, Tell
from tile2triton.compile_job import jobs
from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.module_cache import write_module
from tile2triton.runtime import import_module, require_one_device
from tile2triton.targets import target
from tile2triton.tilelang.parameters import Symbol

if TYPE_CHECKING:
    from tile2triton.frontend.compiled import CompiledKernel


class Recorder:
    """Tells of every kernel once, by what it was emitted as, and of every refusal."""

    def __init__(self, targets: Sequence[str], compiles: bool, tell: Tell) -> None:
        self.targets = targets
        self.compiles = compiles
        self.tell = tell
        self.known: set[str] = set()
        self.told: list[TileError] = []

    def made(self, kernel: CompiledKernel) -> None:
        """Transpile for the other targets, and say what is to be compiled."""
        if kernel.triton_source in self.known:
            return
        self.known.add(kernel.triton_source)
        facts = kernel.program.facts
        self.tell(
            {
                "event": "kernel",
                "key": key(kernel.triton_source),
                "name": kernel.name,
                "file": facts.filename,
                "line": first_line(kernel.program.tree),
                "constants": {key: repr(value) for key, value in facts.constants.items()},
                "settings": facts.settings,
                "targets": {name: self._for_target(kernel, name) for name in self.targets},
            }
        )

    def refused(self, name: str, error: TileError) -> None:
        """Say so once, however often the error passes by."""
        if any(error is one for one in self.told):
            return
        self.told.append(error)
        self.tell({"event": "refused", "name": name, "problems": problems(error)})

    def load(self, kernel: CompiledKernel) -> Callable[..., Any]:
        """The launcher, with all its checks of arguments; its kernels are not run."""
        # One that was made while nobody looked, such as a configuration that was tried.
        self.made(kernel)
        text, name = kernel.triton_source, kernel.name
        launcher = getattr(import_module(text, write_module(text, name), "_checked"), name)

        facts = kernel.program.facts
        names = tuple(inspect.signature(launcher).parameters)

        @functools.wraps(launcher)
        def launch(*args: Any, **kwargs: Any) -> Any:
            given = declared(dict(zip(names, args, strict=False)) | kwargs, facts)
            require_one_device(name, given)
            result = launcher(**given)
            self.tell({"event": "launched", "key": key(text)})
            return result

        return launch

    def _for_target(self, kernel: CompiledKernel, name: str) -> Event:
        try:
            text, facts = kernel.emitted_for(name)
        except TileError as error:
            return {"problems": problems(error)}
        path = str(write_module(text, kernel.name))
        return {
            "path": path,
            "jobs": [dataclasses.asdict(job) for job in jobs(path, facts, target(name))],
            "erased": erased(facts),
        }


def key(text: str) -> str:
    """By what a kernel is known to be the same where another process makes it, too."""
    return hashlib.sha256(text.encode()).hexdigest()


def declared(given: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """The arguments of a launch, where a stand-in becomes a tensor as the kernel declares it."""
    sizes: dict[str, Any] = dict(facts.constants)
    for name, (source, axis) in facts.dims.items():
        tensor = given.get(source)
        if isinstance(tensor, torch.Tensor) and axis < tensor.dim():
            sizes[name] = tensor.shape[axis]
    made = dict(given)
    for name, value in given.items():
        tensor = facts.tensors.get(name)
        if isinstance(value, Absent) and tensor is not None:
            # Where the size is not known either, the launch refuses the stand-in.
            with contextlib.suppress(NameError, ArithmeticError):
                shape = [Symbol(ast.unparse(extent)).value(sizes) for extent in tensor.shape]
                made[name] = torch.empty(shape, dtype=_torch_dtype(tensor.dtype), device="cuda")
    return made


def _torch_dtype(dtype: str) -> torch.dtype:
    return getattr(torch, dtypes.BY_NAME[dtypes.ALIASES.get(dtype, dtype)].torch)


def erased(facts: Facts) -> list[Event]:
    """Everything of the user's that the emitted text lacks, and why."""
    rows = [
        {
            "construct": one.construct,
            "file": one.filename or facts.filename,
            "line": one.line,
            "reason": one.reason,
        }
        for one in facts.erased
    ]
    for hint in facts.hint_report:
        if hint.how == "none":
            rows.append(
                {
                    "construct": hint.construct,
                    "file": hint.filename or facts.filename,
                    "line": hint.line,
                    "reason": f"a hint that is not applied: {hint.detail}",
                }
            )
    return rows


def problems(error: TileError) -> list[Event]:
    """The diagnostics of an error, rendered and in parts."""
    return [problem(one) for one in error.diagnostics]


def problem(one: Diagnostic) -> Event:
    return {
        "code": one.code,
        "message": one.message,
        "file": one.filename,
        "line": one.line,
        "text": one.render(),
    }


def first_line(tree: Any) -> int:
    """Where the kernel's function starts."""
    return next((node.lineno for node in tree.body if hasattr(node, "name")), 0)


def short(path: str) -> str:
    """A path as the user would type it here."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return path
