"""What `@tile2triton.kernel(...)` takes: the options of TileLang's `jit`, and no others."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from tile2triton import targets
from tile2triton.diagnostics import ArgumentError, Diagnostic
from tile2triton.schedule import Schedule

RECORDED = (
    "target_host",
    "execution_backend",
    "verbose",
    "pass_configs",
    "debug_root_path",
    "compile_flags",
)


@dataclasses.dataclass(frozen=True)
class Options:
    """What `@tile2triton.kernel(...)` was given; of `recorded`, pass configs are looked at."""

    out_idx: tuple[int, ...] | None = None
    target: str | None = None
    recorded: tuple[tuple[str, Any], ...] = ()
    schedule: Schedule | None = None

    @property
    def pass_configs(self) -> Any:
        """The settings of TileLang's passes, of which few mean something here."""
        return dict(self.recorded).get("pass_configs")


def checked_options(out_idx: Any, target: Any, recorded: Mapping[str, Any]) -> Options:
    """The options, once they are known to be some; `ArgumentError` says which is not."""
    known = ("out_idx", "target", *RECORDED)
    for name in recorded:
        if name not in RECORDED:
            close = difflib.get_close_matches(name, known, 1)
            raise _wrong(
                f"there is no option `{name}`",
                f"did you mean `{close[0]}`?" if close else f"use one of {', '.join(known)}",
            )
    configs = recorded.get("pass_configs")
    if configs is not None and not isinstance(configs, Mapping):
        raise _wrong(
            f"pass_configs must be a dict, but is `{configs!r}`",
            'write pass_configs={"tl.disable_tma_lower": True}',
        )
    return Options(_indices(out_idx), resolved_target(target), tuple(sorted(recorded.items())))


def _indices(out_idx: Any) -> tuple[int, ...] | None:
    if out_idx is None:
        return None
    given = isinstance(out_idx, Sequence) and not isinstance(out_idx, str)
    indices = tuple(out_idx) if given else (out_idx,)
    for at, index in enumerate(indices):
        if not isinstance(index, int) or isinstance(index, bool):
            raise _wrong(
                f"out_idx holds `{index!r}`, which is no number of a parameter",
                "number the outputs among the parameters: out_idx=[-1] is the last one",
            )
        if index in indices[:at]:
            raise _wrong(f"out_idx names the parameter {index} twice", "name each output once")
    return indices


def resolved_target(name: Any) -> str | None:
    """The target as given, once it is known to exist; "cuda" and "auto" mean this machine's."""
    if name is None or name in ("auto", "cuda", "hip"):
        return None
    if not isinstance(name, str) or name not in targets.BY_NAME:
        raise ArgumentError(
            Diagnostic(
                "T2T412",
                f"there is no target `{name}`",
                hint=f"use one of {', '.join(targets.BY_NAME)}",
            )
        )
    return name


def _wrong(message: str, hint: str) -> ArgumentError:
    return ArgumentError(Diagnostic("T2T413", message, hint=hint))
