"""Patches of what Triton compiles kernels to, for hints that Triton's language cannot say.

Emitted modules call `patch`; nothing that transpiles needs this package.
"""

from .registry import patch

__all__ = ["patch"]
