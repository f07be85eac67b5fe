"""`tile2triton explain FILE:KERNEL`: what the compiler made of a kernel, and of its hints."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile2triton.commands.kernels import compiled, kernels_in, parameters_of, settings_of


def is_kernel(subject: str) -> bool:
    """Whether a subject of `explain` is a file of kernels, and no operator or error."""
    path = subject.rpartition(":")[0] or subject
    return Path(subject).is_file() or subject.endswith(".py") or path.endswith(".py")


def explain_kernel(place: str, targets: Sequence[str], sets: Sequence[str], is_json: bool) -> int:
    """1 if a kernel does not compile or fit somewhere."""
    # Triton is imported here only: without it, the other commands work.
    from tile2triton.compile_check import check_all
    from tile2triton.explaining.printed import lines_of
    from tile2triton.explaining.report import explained

    settings = settings_of(sets)
    kernels = kernels_in(place)
    parts: list[str] = []
    data: list[dict[str, Any]] = []
    failed = False
    for name, source in kernels.items():
        accepted = parameters_of(source) if len(kernels) > 1 else None
        given = {k: value for k, value in settings.items() if accepted is None or k in accepted}
        for target in dict.fromkeys(targets or ("cuda:90",)):
            text, facts = compiled(name, source, given, target).emitted_for(target)
            reports = check_all([(text, facts, target)], is_listed=True)
            for one in explained(text, facts, reports):
                failed = failed or bool(one.problem)
                parts.append("\n".join(lines_of(one)))
                data.append(one.to_data())
    print(json.dumps(data, indent=2) if is_json else "\n\n".join(parts))
    return int(failed)
