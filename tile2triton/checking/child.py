"""The process that runs a script for `tile2triton check`, and tells what becomes of it.

It stands apart from its caller because scripts hang, exit and crash.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from tile2triton.checking.absent import Absent
from tile2triton.checking.events import Event, Teller
from tile2triton.checking.processes import wait_for_all
from tile2triton.checking.recorder import Recorder, problems
from tile2triton.checking.surroundings import surroundings
from tile2triton.diagnostics import TileError
from tile2triton.main_script import run_script


def main() -> None:
    order = json.loads(sys.argv[1])
    tell = Teller(order["events"])
    tell(run(order))
    sys.stdout.flush()
    # Threads of the script must not keep the process alive.
    os._exit(0)


def run(order: Event) -> Event:
    """Run the script of the order; the last event, which says how it ended."""
    with surroundings(order) as (recorder, missed):
        sys.argv = [order["script"], *order["arguments"]]
        sys.path[0] = str(Path(order["script"]).resolve().parent)
        how = _ran(order, recorder)
        wait_for_all()
    return {"event": "end", "missed": missed.names, **how}


def _ran(order: Event, recorder: Recorder) -> Event:
    try:
        if order["pytest"]:
            return _tested(order)
        run_script(Path(order["script"]))
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


def _tested(order: Event) -> Event:
    import pytest

    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore"]
    code = int(pytest.main([order["script"], *options, *order["arguments"]]))
    if code == 0:
        return {"how": "finished"}
    return {"how": "exception", "detail": f"pytest exits with {code}"}


def _exception(error: BaseException) -> Event:
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
