"""Runs a stage of Triton's compiler as it is, with edits between its passes.

The stage's own function runs, in an environment in which what it adds to a pass manager is only
recorded; the record is then run in parts. So no list of passes is kept here, and every version of
Triton keeps its own.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from triton._C.libtriton import ir

from .patching import Module, RefusedError, Step

# The modules of Triton's bindings whose functions add passes, by their names in back ends.
_BINDINGS = ("passes", "nvidia", "amd")


@dataclass(frozen=True)
class Interruption:
    """What is done at a place between passes: it edits the module, or gives another's text."""

    place: str
    run: Callable[[Module], str | None]


@dataclass
class Splitter:
    """Runs stages with interruptions; `reached` holds the places that there were."""

    interruptions: tuple[Interruption, ...]
    # What changes the passes of the stage themselves, before the first one runs.
    changes: tuple[Callable[[list[Step]], list[Step]], ...] = ()
    reached: set[str] = field(default_factory=set)

    def run(self, stage: Callable[..., Module], module: Module, *rest: Any) -> Module:
        """What `stage(module, *rest)` gives, with the interruptions.

        Raises `RefusedError` where an interruption does, or leaves a module that is not valid.
        """
        current = _Current(module)
        namespace = dict(stage.__globals__)
        for name in _BINDINGS:
            if name in namespace:
                namespace[name] = _Recording(namespace[name])
        namespace["ir"] = _Ir(self)
        function = FunctionType(
            stage.__code__, namespace, stage.__name__, stage.__defaults__, stage.__closure__
        )
        function.__kwdefaults__ = stage.__kwdefaults__
        result = function(current, *rest)
        assert result is current, f"{stage.__name__} gives another module than it was given"
        return current.module

    def replay(self, steps: list[Step], current: "_Current", tag: str) -> None:
        """Run recorded passes, up to each place where something is to be done."""
        for change in self.changes:
            steps = change(steps)
        places = {interruption.place for interruption in self.interruptions}
        waiting: list[Step] = []
        self._interrupt(f"start:{tag}", current)
        for step in steps:
            before, after = f"before:{step.name}", f"after:{step.name}"
            if before in places and before not in self.reached:
                _run(waiting, current, tag)
                self._interrupt(before, current)
            waiting.append(step)
            if after in places and after not in self.reached:
                _run(waiting, current, tag)
                self._interrupt(after, current)
        _run(waiting, current, tag)
        self._interrupt(f"end:{tag}", current)

    def _interrupt(self, place: str, current: "_Current") -> None:
        self.reached.add(place)
        for interruption in self.interruptions:
            if interruption.place != place:
                continue
            text = interruption.run(current.module)
            if text is not None:
                current.module = parse(text, current.module.context)
            if not current.module.verify():
                raise RefusedError(f"what is left {place} is no valid module")


def parse(text: str, context: Any) -> Module:
    """The module that `text` says, in the context of the one that it replaces."""
    handle, path = tempfile.mkstemp(suffix=".mlir")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        module = ir.parse_mlir_module(path, context)
    except RuntimeError as error:
        raise RefusedError(f"Triton does not read the edited module: {error}") from error
    finally:
        os.unlink(path)
    module.context = context
    return module


def _run(steps: list[Step], current: "_Current", tag: str) -> None:
    if steps:
        manager = ir.pass_manager(current.module.context)
        manager.enable_debug()
        for step in steps:
            step.add(manager, *step.arguments, **step.options)
        manager.run(current.module, tag)
        steps.clear()


class _Current:
    """Stands for the module in a stage's function, so that an edit may put another in its place."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


class _PassManager:
    """Records the passes that are added to it."""

    def __init__(self, context: Any, splitter: Splitter) -> None:
        self.context = context
        self.splitter = splitter
        self.steps: list[Step] = []

    def enable_debug(self) -> bool:
        """Whether modules are printed after each pass, which stages ask for."""
        return bool(ir.pass_manager(self.context).enable_debug())

    def run(self, current: _Current, tag: str) -> None:
        self.splitter.replay(self.steps, current, tag)


class _Recording:
    """A module of Triton's bindings whose functions, given our pass manager, record themselves."""

    def __init__(self, bindings: Any) -> None:
        self.bindings = bindings

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.bindings, name)
        if isinstance(value, ModuleType):
            return _Recording(value)
        if not callable(value):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            if arguments and isinstance(arguments[0], _PassManager):
                arguments[0].steps.append(Step(name, value, arguments[1:], options))
                return None
            plain = (arg.module if isinstance(arg, _Current) else arg for arg in arguments)
            return value(*plain, **options)

        return call


class _Ir:
    """The bindings `ir`, but for pass managers."""

    def __init__(self, splitter: Splitter) -> None:
        self.splitter = splitter

    def __getattr__(self, name: str) -> Any:
        return getattr(ir, name)

    def pass_manager(self, context: Any) -> _PassManager:
        return _PassManager(context, self.splitter)
