"""`tile2triton explain FILE:KERNEL`: what the compiler made of a kernel, and of its hints."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tile2triton.commands.kernels import (
    UsageError,
    compiled,
    kernels_in,
    parameters_of,
    settings_of,
)


def is_kernel(subject: str) -> bool:
    """Whether a subject of `explain` is a file of kernels, and no operator or error."""
    path = subject.rpartition(":")[0] or subject
    return Path(subject).is_file() or subject.endswith(".py") or path.endswith(".py")


def explain_kernel(
    place: str, targets: Sequence[str], sets: Sequence[str], is_json: bool, page: str | None = None
) -> int:
    """1 if a kernel does not compile or fit somewhere; `page` is a file of HTML to write."""
    # Triton is imported here only: without it, the other commands work.
    from tile2triton.explaining.page.section import Section, sections
    from tile2triton.explaining.printed import lines_of

    if page is not None:
        _require_place(Path(page))
    settings = settings_of(sets)
    kernels = kernels_in(place)
    made: list[Section] = []
    for name, source in kernels.items():
        accepted = parameters_of(source) if len(kernels) > 1 else None
        given = {k: value for k, value in settings.items() if accepted is None or k in accepted}
        for target in dict.fromkeys(targets or ("cuda:90",)):
            made += sections(name, compiled(name, source, given, target), target)
    found = [one.explained for one in made]
    if is_json:
        print(json.dumps([one.to_data() for one in found], indent=2))
    elif page is None:
        print("\n\n".join("\n".join(lines_of(one)) for one in found))
    if page is not None:
        from tile2triton.explaining.page.document import document

        path, _, kernel_name = place.rpartition(":")
        title = Path(path if kernel_name.isidentifier() and path else place).name
        _write(Path(page), document(title, made))
    return int(any(one.problem for one in found))


def _require_place(path: Path) -> None:
    """Say so before kernels are compiled, which takes long."""
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder; --html takes a file")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    print(f"wrote {path}", file=sys.stderr)
