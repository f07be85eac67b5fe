"""`@autotune`: a kernel that finds its tunable parameters itself."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from tile2triton.diagnostics import ArgumentError, at_span
from tile2triton.frontend.cache_keys import cache_key
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.positions import Position, here
from tile2triton.tilelang.factory import TileLangFactory
from tile2triton.tune.autotuner import (
    Kernel,
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
from tile2triton.tune.tuning import tune


def autotune(
    func: None = None,
    *,
    configs: ConfigSource | None = None,
    do_not_specialize: Sequence[str] | None = None,
    **settings: Any,
) -> Callable[[Kernel], AutotunedKernel]:
    """Above `@tile2triton.kernel`: choose parameters that no call gives, by measuring.

    `configs` is a list of dicts by parameter, or a function of a call's arguments that returns
    such; "pass_configs" may stand in a dict too. A configuration is chosen once for each set of
    the other arguments, `do_not_specialize` not counted, and kept on disk. The other options are
    the fields of `Settings`. Raises `ConfigError` and `ArgumentError` for what makes no sense.
    """
    written = here()
    if func is not None or configs is None:
        given = "" if func is None else f", but got {_shown(func)}"
        raise _misplaced(f"`autotune` needs configurations{given}", written)
    chosen = changed_settings(Settings(), settings, written)

    def decorate(kernel: Kernel) -> AutotunedKernel:
        if not isinstance(kernel, (LazyKernel, EagerKernel)):
            raise _misplaced(
                f"`autotune` stands above a kernel, not above {_shown(kernel)}", written
            )
        return AutotunedKernel(kernel, configs, chosen, tuple(do_not_specialize or ()), written)

    return decorate


class AutotunedKernel(TileLangFactory):
    """A kernel under `@autotune`; it is called like the kernel without its tunable parameters.

    A call that gives one of these tunes nothing.
    """

    __name__: str

    def __init__(
        self,
        kernel: Kernel,
        configs: ConfigSource,
        settings: Settings,
        do_not_specialize: tuple[str, ...],
        written: Position,
    ) -> None:
        functools.update_wrapper(self, kernel)
        self.kernel = kernel
        self.configs = configs
        self.settings = settings
        self.do_not_specialize = do_not_specialize
        # Where the decorator is, which says what to try.
        self.written = written
        self.signature = kernel.signature
        self._tuner_cache: dict[Hashable, Config] = {}
        # None where the call gives what is to be tuned.
        self._kernels: dict[Hashable, CompiledKernel | None] = {}
        self._lock = threading.RLock()
        for name in do_not_specialize:
            if name not in self.signature.parameters:
                raise _misplaced(
                    f"`{name}` of do_not_specialize is no parameter of the kernel", written
                )

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the kernel gives with the best configuration for these arguments."""
        if isinstance(self.kernel, LazyKernel):
            return self.compile(*arguments, **keywords)
        kernel = self._tuned(arguments, keywords, is_call=True)
        if kernel is None:
            return self.kernel(*arguments, **keywords)
        bound = self.signature.bind_partial(*arguments, **keywords)
        bound.apply_defaults()
        return kernel(*(bound.arguments[name] for name in self.kernel.tensors))

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
            if config is not None:
                kernel = made_with(self.kernel, config, arguments, keywords)
                kernel.config = dict(config)
            else:
                configs = configurations(self.configs, arguments, keywords, self.written)
                check_names(configs, self.signature, self.__name__, self.written)
                if self._are_given(tunables(configs[0]), arguments, keywords):
                    self._kernels[own_key] = None
                    return None
                call = self._tensors(arguments, keywords) if is_call else None
                request = request_of(self.kernel, configs, self.settings, arguments, keywords, call)
                kernel = set_results(tune(request))
                self._tuner_cache[key] = kernel.config or {}
            self._kernels[own_key] = kernel
            return kernel

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

    def _tensors(
        self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[Any, ...] | None:
        """The arguments that the kernel itself runs on."""
        assert isinstance(self.kernel, EagerKernel), "the lazy style is not called with tensors"
        bound = self.signature.bind_partial(*arguments, **keywords).arguments
        return tuple(bound[name] for name in self.kernel.tensors)


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
    hint = "write @autotune(configs=...) above @tile2triton.kernel above the function"
    return ArgumentError(at_span(written.filename, written.span, "T2T542", message, hint=hint))
