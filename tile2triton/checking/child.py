"""The process that runs a script for `tile2triton check`: what it sees goes out as lines of JSON.

It stands apart from its caller because scripts hang, exit and crash.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tile2triton.checking.absent import Absent, AbsentPackages, Missed
from tile2triton.checking.calls import Counts, answering
from tile2triton.checking.launches import launching_nothing
from tile2triton.checking.recorder import Recorder, problems
from tile2triton.diagnostics import TileError
from tile2triton.observing import observed_by
from tile2triton.posing.gpu import posing
from tile2triton.targets import target

# Only their shapes would be taken, and a machine without a GPU has no compiler for them.
NOT_DONE = {
    "torch.utils.cpp_extension.load": lambda *_, **__: Absent("a C++ extension"),
    "torch.utils.cpp_extension.load_inline": lambda *_, **__: Absent("a C++ extension"),
}


def main() -> None:
    order = json.loads(sys.argv[1])
    events = os.fdopen(int(order["events"]), "w")

    def tell(event: dict[str, Any]) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    tell(run(order, tell))
    events.close()
    sys.stdout.flush()
    # Threads of the script must not keep the process alive.
    os._exit(0)


def run(order: dict[str, Any], tell: Any) -> dict[str, Any]:
    """Run the script of the order; the last event, which says how it ended."""
    # What is computed is small.
    torch.set_num_threads(1)
    recorder = Recorder(order["targets"], order["compiles"], tell)
    counts = Counts()
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("tile2triton.compat")
    AbsentPackages(order["absent"]).install()
    missed = Missed()
    missed.install()
    sys.argv = [order["script"], *order["arguments"]]
    sys.path[0] = str(Path(order["script"]).resolve().parent)
    gpu = target(order["targets"][0])
    with posing(gpu, NOT_DONE), launching_nothing(gpu), observed_by(recorder), answering(counts):
        how = _ran(order, recorder)
    return {
        "event": "end",
        "missed": missed.names,
        **how,
        "launches": {str(number): count for number, count in recorder.launched.items()},
        "comparisons": counts.comparisons,
        "guesses": counts.guesses,
        "guessed_at": counts.at[:20],
    }


def _ran(order: dict[str, Any], recorder: Recorder) -> dict[str, Any]:
    try:
        if order["pytest"]:
            return _tested(order)
        runpy.run_path(order["script"], run_name="__main__")
    except SystemExit as error:
        if error.code in (None, 0):
            return {"how": "finished"}
        return {"how": "exception", "detail": f"the script exits with {error.code!r}"}
    except TileError as error:
        recorder.refused("", error)
        return {"how": "refused", "problems": problems(error), "where": _where(error)}
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package and not _exists(package):
            return {"how": "package", "package": package, "where": _where(error)}
        return _exception(error)
    except BaseException as error:
        return _exception(error)
    return {"how": "finished"}


def _tested(order: dict[str, Any]) -> dict[str, Any]:
    import pytest

    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore"]
    code = int(pytest.main([order["script"], *options, *order["arguments"]]))
    if code == 0:
        return {"how": "finished"}
    return {"how": "exception", "detail": f"pytest exits with {code}"}


def _exception(error: BaseException) -> dict[str, Any]:
    text = "".join(traceback.format_exception(error))
    seen: list[str] = []
    for one in _chain(error):
        seen += [name for name in _absent_in(one) if name not in seen]
    return {
        "how": "exception",
        "detail": f"{type(error).__name__}: {error}".strip(),
        "where": _where(error),
        "traceback": text,
        "absent": seen,
    }


def _chain(error: BaseException) -> Sequence[BaseException]:
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None and len(found) < 9:
        found.append(cause)
    return found


def _absent_in(error: BaseException) -> list[str]:
    """The missing packages whose stand-ins were at hand where the error arose."""
    names: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if isinstance(value, Absent):
                names.append(value.__name__.partition(".")[0])
        trace = trace.tb_next
    return names


def _where(error: BaseException) -> str:
    """The last line of the user's that the error passed."""
    ours = str(Path(__file__).parents[2])
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if not frame.filename.startswith((ours, "<", sys.prefix, sys.base_prefix)):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def _exists(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


if __name__ == "__main__":
    main()
