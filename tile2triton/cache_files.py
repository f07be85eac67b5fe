"""Files in the cache directory, which several processes read and write."""

import os
import tempfile
from pathlib import Path


def write_cached(path: Path, text: str) -> None:
    """Write a file, and its folder; readers see the old file or the whole new one, never a part.

    Raises OSError where it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
