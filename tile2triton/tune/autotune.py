"""`@autotune`: a kernel that finds its tunable parameters itself."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, overload

from tile2triton.diagnostics import ArgumentError, Diagnostic, at_span
from tile2triton.frontend.cache_keys import cache_key
from tile2triton.frontend.compiled import CompiledKernel, default_target
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.frontend.positions import Position, here
from tile2triton.schedule import Schedule
from tile2triton.tilelang.factory import TileLangFactory
from tile2triton.tune.autotuner import (
    changed_settings,
    made_with,
    request_of,
    set_results,
)
from tile2triton.tune.configs import (
    Config,
    ConfigSource,
    check_names,
    configurations,
    tunables,
)
from tile2triton.tune.described import described
from tile2triton.tune.settings import Settings
from tile2triton.tune.subject import Tunable, decided, subject_of
from tile2triton.tune.tuned_entries import given_of, has_entry, is_kept, tuned_entry
from tile2triton.tune.tuning import tune, tune_space

# How long schedules are searched where nobody says it.
SECONDS = 60.0


@overload
def autotune(func: Tunable) -> AutotunedKernel: ...


@overload
def autotune(
    func: None = None,
    *,
    configs: ConfigSource | None = None,
    do_not_specialize: Sequence[str] | None = None,
    seconds: float | None = None,
    **settings: Any,
) -> Callable[[Tunable], AutotunedKernel]: ...


def autotune(
    func: Tunable | None = None,
    *,
    configs: ConfigSource | None = None,
    do_not_specialize: Sequence[str] | None = None,
    seconds: float | None = None,
    **settings: Any,
) -> AutotunedKernel | Callable[[Tunable], AutotunedKernel]:
    """Above `@tile2triton.kernel`: choose what no call gives, by measuring.

    `configs` is a list of dicts by parameter, or a function of a call's arguments that returns
    such; "pass_configs" may stand in a dict too. Without it, schedules of a space that is found
    from the program are searched for so many `seconds`, 60 where they are not given. The choice is
    made once for each set of the other arguments, `do_not_specialize` not counted, and kept on
    disk. The other options are the fields of `Settings`. Raises `ConfigError` and `ArgumentError`
    for what makes no sense.
    """
    written = here()
    chosen = changed_settings(Settings(), settings, written)
    if seconds is not None and configs is not None:
        raise _misplaced("`seconds` is how long to search where there are no configs", written)

    def decorate(kernel: Tunable) -> AutotunedKernel:
        takes = (LazyKernel, EagerKernel) if configs is not None else Tunable
        if not isinstance(kernel, takes):
            raise _misplaced(
                f"`autotune` stands above a kernel, not above {_shown(kernel)}", written
            )
        names = tuple(do_not_specialize or ())
        return AutotunedKernel(
            kernel, configs, chosen, names, written, SECONDS if seconds is None else seconds
        )

    return decorate if func is None else decorate(func)


class AutotunedKernel(TileLangFactory):
    """A kernel under `@autotune`; it is called like the kernel without its tunable parameters.

    A call that gives one of these tunes nothing.
    """

    __name__: str

    def __init__(
        self,
        kernel: Tunable,
        configs: ConfigSource | None,
        settings: Settings,
        do_not_specialize: tuple[str, ...],
        written: Position,
        seconds: float,
    ) -> None:
        functools.update_wrapper(self, kernel)
        self.kernel = kernel
        # None where schedules are searched.
        self.configs = configs
        self.seconds = seconds
        self.settings = settings
        self.do_not_specialize = do_not_specialize
        # Where the decorator is, which says what to try.
        self.written = written
        self.signature = kernel.signature
        self._tuner_cache: dict[Hashable, Config] = {}
        # None where the call gives what is to be tuned.
        self._kernels: dict[Hashable, CompiledKernel | None] = {}
        # The function that calls run from the second one on, and what it looks up.
        self._entry: Callable[..., Any] | None = None
        self._launchers: dict[Hashable, Callable[..., Any]] = {}
        self._lock = threading.RLock()
        for name in do_not_specialize:
            if name not in self.signature.parameters:
                raise _misplaced(
                    f"`{name}` of do_not_specialize is no parameter of the kernel", written
                )

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the kernel gives with the best configuration for these arguments."""
        if isinstance(decided(self.kernel, arguments, keywords), LazyKernel):
            return self.compile(*arguments, **keywords)
        kernel = self._tuned(arguments, keywords, is_call=True)
        if kernel is None:
            return self.kernel(*arguments, **keywords)
        result = kernel(*self._operands(arguments, keywords))
        self._look_up_calls(arguments, keywords)
        return result

    def _look_up_calls(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Let later calls look their launcher up first."""
        tensors = self._names_of_tensors(arguments, keywords)
        with self._lock:
            if self._entry is not None or not has_entry(self.signature):
                return
            call = functools.partial(self._missed, tensors)
            name = self.kernel.__name__
            self._entry = tuned_entry(name, self.signature, tensors, self._launchers.get, call)
            # Python looks `__call__` up in the type, so the object gets a type of its own.
            body = {"__call__": staticmethod(self._entry), "__doc__": self.__doc__}
            self.__class__ = type("AutotunedKernel", (AutotunedKernel,), body)

    def _missed(
        self,
        tensors: tuple[str, ...],
        key: Hashable | None,
        named: dict[str, Any],
        rest: tuple[Any, ...],
        more: dict[str, Any],
    ) -> Any:
        """A call that is not looked up; if it could be, later ones are."""
        if rest:
            return AutotunedKernel.__call__(self, *named.values(), *rest, **more)
        given = {**given_of(named), **more}
        result = AutotunedKernel.__call__(self, **given)
        if key is not None and is_kept(named, tensors):
            kernel = self._tuned((), given, is_call=True)
            if kernel is not None:
                # What it has taken once is not asked for shapes and types again.
                self._launchers[key] = kernel.launcher(shapes_are_known=True)
        return result

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        """The kernel with the best configuration for these arguments."""
        found = self._tuned(arguments, keywords, is_call=False)
        return self.kernel.compile(*arguments, **keywords) if found is None else found

    def get_kernel_source(self, *arguments: Any, **keywords: Any) -> str:
        """The Triton source of the best kernel for these arguments."""
        return self.compile(*arguments, **keywords).triton_source

    def _tuned(
        self, arguments: tuple[Any, ...], keywords: Mapping[str, Any], is_call: bool
    ) -> CompiledKernel | None:
        """The best kernel for these arguments; None where they set what is to be tuned."""
        key = self._key(arguments, keywords)
        # What is not specialised makes other kernels of the same configuration.
        own_key = (key, self._key(arguments, keywords, ()))
        with self._lock:
            if own_key in self._kernels:
                return self._kernels[own_key]
            config = self._tuner_cache.get(key)
            if self.configs is None:
                found = self._searched(config, arguments, keywords, is_call)
                if found is not None:
                    self._tuner_cache[key] = found.config or {}
                self._kernels[own_key] = found
                return found
            assert not isinstance(self.kernel, OperandKernel), "it has no parameters to configure"
            if config is not None:
                kernel = made_with(self.kernel, config, arguments, keywords)
                kernel.config = dict(config)
            else:
                configs = configurations(self.configs, arguments, keywords, self.written)
                check_names(configs, self.signature, self.__name__, self.written)
                if self._are_given(tunables(configs[0]), arguments, keywords):
                    self._kernels[own_key] = None
                    return None
                call = self._operands(arguments, keywords) if is_call else None
                request = request_of(self.kernel, configs, self.settings, arguments, keywords, call)
                kernel = set_results(tune(request))
                self._tuner_cache[key] = kernel.config or {}
            self._kernels[own_key] = kernel
            return kernel

    def _searched(
        self,
        config: Config | None,
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
        is_call: bool,
    ) -> CompiledKernel | None:
        """The kernel under the best schedule that is found; None where nothing can be measured."""
        target = self.kernel.options.target or default_target()
        subject = subject_of(self.kernel, arguments, keywords, target)
        if config is not None:
            kernel = subject.made(Schedule(**config))
            kernel.config = dict(config)
            return kernel
        call = self._operands(arguments, keywords) if is_call else None
        tuned = tune_space(subject, self.settings, self.seconds, call)
        return None if tuned is None else set_results(tuned)

    def _key(
        self,
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
        left_out: tuple[str, ...] | None = None,
    ) -> Hashable:
        """Equal for calls that one configuration serves: tensors count by shape and type."""
        left_out = self.do_not_specialize if left_out is None else left_out
        try:
            bound = self.signature.bind_partial(*arguments, **keywords).arguments
        except TypeError:
            # T.const sizes may be given beside the parameters; the kernel knows which it has.
            bound = {"arguments": arguments, **keywords}
        return tuple(
            (name, _told_apart(value)) for name, value in bound.items() if name not in left_out
        )

    def _are_given(
        self, names: Sequence[str], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> bool:
        positional = list(self.signature.parameters)[: len(arguments)]
        return any(name in keywords or name in positional for name in names)

    def _operands(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments that the kernel itself runs on."""
        bound = self._bound(arguments, keywords)
        return tuple(bound[name] for name in self._names_of_tensors(arguments, keywords))

    def _names_of_tensors(
        self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """The parameters that these are passed for."""
        bound = self._bound(arguments, keywords)
        if not isinstance(self.kernel, EagerKernel):
            # Numbers beside whole operands are constants of the kernel.
            return tuple(name for name, value in bound.items() if hasattr(value, "shape"))
        for name in self.kernel.tensors:
            if name not in bound:
                raise self._wrong_call(f"missing the argument `{name}`")
        return self.kernel.tensors

    def _bound(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.signature.bind_partial(*arguments, **keywords).arguments
        except TypeError as error:
            raise self._wrong_call(str(error)) from None

    def _wrong_call(self, message: str) -> ArgumentError:
        return ArgumentError(Diagnostic("T2T411", f"{self.__name__}: {message}"))


def _told_apart(value: Any) -> Hashable:
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return described(value)
    return cache_key(value)


def under_kernel(tuned: AutotunedKernel) -> ArgumentError:
    """The error of `@tile2triton.kernel` above `@autotune`."""
    return _misplaced(f"`{tuned.__name__}` has `autotune` under `kernel`", tuned.written)


def _shown(given: object) -> str:
    return f"`{getattr(given, '__name__', None) or repr(given)}`"


def _misplaced(message: str, written: Position) -> ArgumentError:
    hint = (
        "write @autotune, or @autotune(configs=...), above @tile2triton.kernel above the function"
    )
    return ArgumentError(at_span(written.filename, written.span, "T2T542", message, hint=hint))
