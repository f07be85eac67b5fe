"""`tilelang.language.common`: the language, which is one for all GPUs."""

from typing import Any

import tile2triton.language as _language

__all__ = list(_language.__all__)
globals().update({k: v for k, v in vars(_language).items() if k[:2] != "__" or k[-2:] != "__"})


def __getattr__(name: str) -> Any:
    """Every other name is unknown to the language, which says so."""
    return getattr(_language, name)
