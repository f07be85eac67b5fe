"""Whether what a candidate computed is what the reference gave, in words where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tolerance:
    """How far elements may be off, and which part of them may be further off than that."""

    rtol: float
    atol: float
    max_mismatched_ratio: float


def as_list(outputs: Any) -> list[Any]:
    """What a kernel or a reference returned, as a list of tensors."""
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def difference(found: Sequence[Any], wanted: Sequence[Any], tolerance: Tolerance) -> str:
    """Where the outputs differ; empty where they agree. An output that is None is not compared."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs, but the reference gives {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one is not None and other is not None:
            said = tensor_difference(one, other, tolerance)
            if said:
                return f"output {number}: {said}"
    return ""


def tensor_difference(found: Any, wanted: Any, tolerance: Tolerance) -> str:
    """Where two tensors differ; empty where they agree."""
    import torch

    if tuple(found.shape) != tuple(wanted.shape):
        return f"shape {tuple(found.shape)}, but the reference gives {tuple(wanted.shape)}"
    wanted = wanted.to(found.device)
    kind = torch.float64 if _is_real(found) or _is_real(wanted) else torch.int64
    left, right = found.to(kind), wanted.to(kind)
    far = ~torch.isclose(left, right, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
    count = int(far.sum())
    if count <= int(far.numel() * tolerance.max_mismatched_ratio):
        return ""
    first = tuple(int(index) for index in far.nonzero()[0])
    return (
        f"{count / far.numel():.2%} of the elements differ "
        f"({tolerance.max_mismatched_ratio:.2%} may), first at {first}: "
        f"{left[first].item()}, but the reference gives {right[first].item()}"
    )


def relative_error(found: Any, wanted: Any) -> float:
    """The norm of the difference, as a part of that of what is wanted."""
    import torch

    left, right = (one.to(found.device).to(torch.float64) for one in (found, wanted))
    same = (left == right) | (left.isnan() & right.isnan())
    off = torch.where(same, 0.0, left - right)
    size = torch.where(right.isfinite(), right, 0.0).norm()
    return float(off.norm() / size) if size else float(off.norm())


def _is_real(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating_point)
