"""The process in which patches are tried, with four more: they crash, hang, miscount or wait."""

import os
import time
from typing import Any

from tile2triton.ttgir.patches import KINDS
from tile2triton.ttgir.patching import Chip, Edit, Kind, Request, expect
from tile2triton.ttgir.trial_worker import compile_patched
from tile2triton.worker_loop import answer_questions


def crash(module: Any, site: Any) -> None:
    # As LLVM does where it finds a mistake.
    os.abort()


def hang(module: Any, site: Any) -> None:
    time.sleep(600)


def miscount(module: Any, site: Any) -> None:
    expect(3, 1, "loads")


def fail_later(module: Any, site: Any) -> None:
    """Passes its trial, and fails where it is applied."""
    if __name__ != "__main__":
        raise RuntimeError("PassManager::run failed")


def add_kinds() -> None:
    for run in (crash, hang, miscount, fail_later):
        edit = Edit("after:add_coalesce", run)

        def edits(request: Request, chip: Chip, edit: Edit = edit) -> tuple[Edit, ...]:
            return (edit,)

        KINDS[run.__name__] = Kind(run.__name__, (), edits)


if __name__ == "__main__":
    add_kinds()
    answer_questions(compile_patched)
