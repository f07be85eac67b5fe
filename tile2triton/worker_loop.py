"""The other end of a `WorkerProcess`: questions in as lines of JSON, answers out the same way."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def answer_questions(answer: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
    """Answer until there are no more questions; what `answer` raises is an "error"."""
    answers = os.fdopen(os.dup(1), "w")
    # What compilers and kernels print joins standard error.
    os.dup2(2, 1)
    for line in sys.stdin:
        started = time.monotonic()
        try:
            given = dict(answer(json.loads(line)))
        except Exception as error:
            given = {"error": f"{type(error).__name__}: {error}"}
        given["seconds"] = time.monotonic() - started
        answers.write(json.dumps(given) + "\n")
        answers.flush()
