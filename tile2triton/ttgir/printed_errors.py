"""What compilers print of their errors: the exceptions that Triton raises name none of them."""

import os
import re
from contextlib import suppress

# Exceptions that only say that something is printed, and what says that once more.
_BARE = ("PassManager::run failed", "Parse MLIR file failed")
_SAID = re.compile(r"error: (?!Failures have been detected)(.*)|(Assertion .*)")
_MOST = 200


def place() -> int:
    """Where what is printed from here on starts; 0 where standard error is no file."""
    with suppress(OSError):
        return os.lseek(2, 0, os.SEEK_CUR)
    return 0


def printed_since(start: int) -> str:
    """What this process has printed since; nothing where standard error is no file."""
    with suppress(OSError):
        size = os.lseek(2, 0, os.SEEK_CUR) - start
        return os.pread(2, size, start).decode(errors="replace") if size > 0 else ""
    return ""


def reason(error: str, printed: str) -> str:
    """An error with the first that was printed beside it, or that alone where it says all."""
    for line in printed.splitlines():
        found = _SAID.search(line)
        if found:
            said = (found[1] or found[2]).strip()[:_MOST]
            is_bare = any(words in error for words in _BARE)
            return f"Triton's compiler says: {said}" if is_bare else f"{error}; {said}"
    return error
