"""The configurations to try: where they come from, and what they may name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tile2triton.diagnostics import TileError, at_span
from tile2triton.frontend.positions import Position

Config = Mapping[str, Any]
# A list, or a function of the arguments that the kernel is made for.
ConfigSource = Iterable[Config] | Callable[..., Iterable[Config]]

# What a configuration may hold besides the kernel's parameters.
PASS_CONFIGS = "pass_configs"
_FORM = 'write configs=[{"block_M": 64}, {"block_M": 128}], or a function that returns such'


class ConfigError(TileError):
    """The configurations, or what tuning is asked to do with them, make no sense."""


def configurations(
    source: ConfigSource,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    written: Position,
) -> tuple[Config, ...]:
    """The configurations for these arguments. Raises `ConfigError` where there are none."""
    found = source(*arguments, **keywords) if callable(source) else source
    if isinstance(found, Mapping) or not isinstance(found, Iterable):
        raise _wrong(f"configs must be a list of dicts, but is `{found!r}`", written)
    configs = tuple(found)
    for config in configs:
        if not isinstance(config, Mapping):
            raise _wrong(f"configs must hold dicts, but holds `{config!r}`", written)
    if not configs:
        raise _wrong("there is no configuration to try", written)
    return configs


def check_names(
    configs: Iterable[Config], signature: inspect.Signature, name: str, written: Position
) -> None:
    """Every name is a parameter of the kernel. Raises `ConfigError` for others."""
    known = [*signature.parameters, PASS_CONFIGS]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for config in configs:
        for key in config:
            if key not in known and not takes_any:
                raise _wrong(
                    f"`{key}` of a configuration is no parameter of `{name}`",
                    written,
                    found=(f"{name}({', '.join(signature.parameters)})", f"{dict(config)!r}"),
                    hint=_meant(key, known),
                )


def tunables(config: Config) -> tuple[str, ...]:
    """The kernel's parameters that a configuration sets."""
    return tuple(key for key in config if key != PASS_CONFIGS)


def _meant(key: object, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(key), known, 1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"use one of {', '.join(known)}"


def _wrong(
    message: str, written: Position, found: tuple[str, ...] = (), hint: str = _FORM
) -> ConfigError:
    return ConfigError(at_span(written.filename, written.span, "T2T543", message, found, hint))
