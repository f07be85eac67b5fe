"""Tries patches in a process that may crash or hang, before they are applied in this one.

What was found is kept in the cache directory, so that each is tried once: it is found again by the
kernel as Triton first writes it, the patches, the chip, the options and the version of Triton.
"""

import base64
import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import triton

from ..cache_files import write_cached
from ..environment import cache_directory, patch_seconds
from ..targets import TARGETS
from ..worker_process import WorkerProcess
from .outcome import Outcome
from .patching import Request
from .printed_errors import place, printed_since, reason
from .registry import package_digest

WORKER = "tile2triton.ttgir.trial_worker"

# A kernel that takes less of the limit without patches hangs with them.
_SHARE = 0.1

# Whether this process may itself crash and hang, so that patches are tried in it.
_is_expendable = False

# What compiling with some requests gives: counts, an "error", or which is "blocked" and a "reason".
Ask = Callable[[Sequence[Request]], dict[str, Any]]


@contextmanager
def in_this_process(is_expendable: bool) -> Iterator[None]:
    """Start no process for a trial inside: whoever started this one answers for its end."""
    global _is_expendable
    before, _is_expendable = _is_expendable, is_expendable
    try:
        yield
    finally:
        _is_expendable = before


def try_patches(text: str, requests: Sequence[Request], target: Any, options: Any) -> Outcome:
    """Which of `requests` the kernel `text`, in Triton's first form, compiles with."""
    given = [text, package_digest(), triton.__version__, repr(target), str(options.hash())]
    given += [repr(request.identity) for request in requests]
    key = hashlib.sha256("\0".join(given).encode()).hexdigest()
    path = cache_directory() / "patches" / f"{key[:32]}.json"
    with suppress(OSError, ValueError):
        # A file that is damaged is as good as none.
        return Outcome.from_json(path.read_text(), requests)
    try:
        with _compiler(text, target, options) as ask:
            outcome = settle(ask, requests, _shared_memory(target))
    except OSError as error:
        why = f"no other process could be started to try it: {error}"
        return _undecided(requests, why)
    if outcome.is_lasting:
        with suppress(OSError):
            # Where it cannot be kept, the next process tries again.
            write_cached(path, outcome.to_json(requests))
    return outcome


def settle(ask: Ask, requests: Sequence[Request], shared_memory: int) -> Outcome:
    """Leave out one request after the other, until the kernel compiles with the rest."""
    before = ask(())
    if "error" in before:
        why = f"the kernel does not compile without it either: {before['error']}"
        return _undecided(requests, why)
    kept = list(enumerate(requests))
    refused: dict[int, str] = {}
    is_lasting = True

    def attempt(some: Sequence[tuple[int, Request]]) -> dict[str, Any]:
        answer = ask([request for _, request in some])
        needed = answer.get("shared memory", 0)
        if needed > max(shared_memory, before["shared memory"]):
            return {"error": f"it takes {needed} bytes of shared memory of {shared_memory}"}
        return answer

    while kept:
        after = attempt(kept)
        if "blocked" in after:
            culprit = after["blocked"]
        elif "error" in after:
            # The first one with which those before it no longer compile.
            counts = range(1, len(kept))
            culprit = next((n for n in counts if "error" in attempt(kept[:n])), len(kept)) - 1
        else:
            applied = tuple(index for index, _ in kept)
            return Outcome(applied, refused, _counts(before), _counts(after), is_lasting)
        # Where the kernel alone takes its time, too, a busy machine may be what is slow.
        is_lasting &= not after.get("hung") or before.get("seconds", 0.0) < _SHARE * patch_seconds()
        index, _ = kept.pop(culprit)
        refused[index] = after.get("reason") or after["error"]
    return Outcome((), refused, _counts(before), _counts(before), is_lasting)


def _undecided(requests: Sequence[Request], why: str) -> Outcome:
    """Nothing was found; another day it may."""
    return Outcome((), dict.fromkeys(range(len(requests)), why), is_lasting=False)


def _counts(answer: dict[str, Any]) -> dict[str, int]:
    return {name: number for name, number in answer.items() if isinstance(number, int)}


@contextmanager
def _compiler(text: str, target: Any, options: Any) -> Iterator[Ask]:
    """A process that compiles `text` with the requests that it is asked for."""
    kernel = {
        "text": text,
        "target": [target.backend, target.arch, target.warp_size],
        "options": base64.b64encode(pickle.dumps(options)).decode(),
    }

    def question(requests: Sequence[Request]) -> dict[str, Any]:
        wanted = [[one.kind, one.anchor, dict(one.arguments)] for one in requests]
        return {**kernel, "requests": wanted}

    if _is_expendable:
        yield lambda requests: _answered_here(question(requests))
        return
    with WorkerProcess(WORKER, "compiling", "the compiler") as process:

        def ask(requests: Sequence[Request]) -> dict[str, Any]:
            answer = process.ask(question(requests), patch_seconds())
            if "error" in answer:
                answer["error"] = reason(answer["error"], answer.get("messages", ""))
            return answer

        yield ask


def _answered_here(question: dict[str, Any]) -> dict[str, Any]:
    from .trial_worker import compile_patched

    start = place()
    try:
        return compile_patched(question)
    except Exception as error:
        return {"error": reason(f"{type(error).__name__}: {error}", printed_since(start))}


def _shared_memory(target: Any) -> int:
    known = {(row.backend, row.arch): row.shared_memory for row in TARGETS}
    # A chip that is not in the table is asked when the kernel is loaded.
    return known.get((target.backend, target.arch), 1 << 30)
