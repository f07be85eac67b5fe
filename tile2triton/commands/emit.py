"""`tile2triton emit`: print or write the Triton of a kernel, or its program after a pass."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tile2triton.commands.kernels import UsageError, UserError, compiled, kernels_in, settings_of


def emit(place: str, out: str | None, after: str | None, sets: Sequence[str], target: str) -> int:
    """Write the module to `out`, or print it."""
    settings = settings_of(sets)
    kernels = kernels_in(place)
    if len(kernels) > 1:
        raise UsageError(f"{place} has the kernels {', '.join(kernels)}; name one as FILE:KERNEL")
    ((name, source),) = kernels.items()
    kernel = compiled(name, source, settings, target)
    text = kernel.triton_source if after is None else kernel.after(after)
    if out is None:
        sys.stdout.write(text)
    else:
        try:
            write_whole(Path(out), text)
        except OSError as error:
            raise UserError(f"cannot write {out}: {error.strerror}") from error
        print(f"wrote {out}", file=sys.stderr)
    return 0


def write_whole(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees a part of it."""
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, text=True)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
