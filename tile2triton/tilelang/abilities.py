"""`tilelang.contrib.nvcc.have_*`: what a compute capability or target has."""

from __future__ import annotations

from typing import Any

from tile2triton.tilelang.device import get_target_compute_version, parse_compute_version


def have_fp16(compute_version: str) -> bool:
    return _at_least(compute_version, 5, 3)


def have_int8(compute_version: str) -> bool:
    return _at_least(compute_version, 6, 1)


def have_bf16(compute_version: str) -> bool:
    return _at_least(compute_version, 8, 0)


def have_fp8(compute_version: str) -> bool:
    return _at_least(compute_version, 8, 9)


def have_tensorcore(compute_version: str | None = None, target: Any = None) -> bool:
    return _at_least(compute_version or get_target_compute_version(target), 7, 0)


def have_tma(target: Any) -> bool:
    return _at_least(get_target_compute_version(target), 9, 0)


def have_pdl(target: Any) -> bool:
    return _at_least(get_target_compute_version(target), 9, 0)


def is_hopper(target: Any) -> bool:
    return parse_compute_version(get_target_compute_version(target)) == (9, 0)


def _at_least(compute_version: str, major: int, minor: int) -> bool:
    return parse_compute_version(compute_version) >= (major, minor)
