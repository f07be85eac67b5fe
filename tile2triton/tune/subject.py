"""What is tuned: a kernel with the arguments that it is made for, under any schedule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewrites import schedule as plain
from rewrites.facts import Program
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.frontend.options import Options
from tile2triton.schedule import Schedule

Tunable = LazyKernel | EagerKernel | OperandKernel


@dataclass(frozen=True)
class Subject:
    """A kernel or program on whole operands, its arguments, and the target it is tuned for."""

    kernel: Tunable
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    target: str

    def made(self, schedule: Schedule | None = None) -> CompiledKernel:
        """The kernel under a schedule; without one, as it is written."""
        kernel = with_options(
            self.kernel, dataclasses.replace(self.kernel.options, target=self.target)
        )
        if schedule is not None:
            kernel = kernel.scheduled(schedule)
        return kernel.compile(*self.arguments, **self.keywords)

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        if isinstance(self.kernel, LazyKernel):
            return self.kernel.function
        return self.kernel.captured.function

    @property
    def said(self) -> plain.Schedule:
        """What annotations say already, which stays."""
        schedule = self.kernel.options.schedule
        return plain.Schedule() if schedule is None else schedule.for_target(self.target)

    def is_open(self, name: str) -> bool:
        """Whether a constant is a parameter that a schedule may set: no argument gives it."""
        if isinstance(self.kernel, OperandKernel):
            return False
        parameters = self.kernel.signature.parameters
        given = {*list(parameters)[: len(self.arguments)], *self.keywords}
        is_parameter = name in parameters and name not in given
        return is_parameter and parameters[name].default is not parameters[name].empty


def subject_of(
    kernel: Tunable, arguments: tuple[Any, ...], keywords: Mapping[str, Any], target: str
) -> Subject:
    """The subject of a call, which decides whether a function makes kernels or computes."""
    return Subject(decided(kernel, arguments, keywords), arguments, keywords, target)


def decided(kernel: Tunable, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Tunable:
    """The program on whole operands that a factory turns out to be, or the kernel itself."""
    if isinstance(kernel, LazyKernel):
        return kernel.computing(arguments, dict(keywords)) or kernel
    return kernel


def sized_program(kernel: CompiledKernel) -> Program:
    """The tile program, with the sizes it is made for also where launches read them."""
    program = kernel.tile_program()
    facts = program.facts
    made_for = kernel.program.facts.constants
    sizes = {name: made_for[name] for name in facts.dims if name in made_for}
    return Program(program.tree, dataclasses.replace(facts, constants={**sizes, **facts.constants}))


def with_options(kernel: Tunable, options: Options) -> Tunable:
    """The same kernel with other options."""
    if isinstance(kernel, EagerKernel):
        return EagerKernel(kernel.captured, options)
    if isinstance(kernel, OperandKernel):
        return OperandKernel(kernel.captured, options)
    return LazyKernel(kernel.function, options, kernel.undecided)
