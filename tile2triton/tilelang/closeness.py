"""`torch_assert_close`: equality of tensors within tolerances, for all but a share of elements."""

from __future__ import annotations

from typing import Any


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """Whether two tensors are close; AssertionError where too many elements are not.

    An element is close within `atol + rtol * |tensor_b|`. Of all elements, the share of
    `max_mismatched_ratio`, rounded down, may be further apart.
    """
    import torch

    _require_same_kind(
        tensor_a,
        tensor_b,
        ("shape", True),
        ("layout", check_layout),
        ("device", check_device),
        ("dtype", check_dtype),
    )
    if check_stride and tensor_a.stride() != tensor_b.stride():
        raise AssertionError(f"strides differ: {tensor_a.stride()} and {tensor_b.stride()}")
    a, b = _comparable(tensor_a, tensor_b)
    is_close = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    total, wrong = a.numel(), int((~is_close).sum())
    allowed = int(total * max_mismatched_ratio)
    if verbose:
        print(f"{wrong} of {total} elements differ ({allowed} may)")
    if wrong <= allowed:
        return True
    first = tuple(int(i) for i in (~is_close).nonzero()[0])
    apart = torch.abs(a.double() - b.double())
    raise AssertionError(
        f"{wrong} of {total} elements differ, {wrong / total:.2%}, where {allowed} may"
        f" ({max_mismatched_ratio:.2%}); atol={atol}, rtol={rtol}\n"
        f"first at {first}: {base_name} {a[first].item()}, {ref_name} {b[first].item()}\n"
        f"greatest difference: {apart.nan_to_num().max().item()}\n"
        f"{base_name}: {tensor_a}\n{ref_name}: {tensor_b}"
    )


def _require_same_kind(a: Any, b: Any, *wanted: tuple[str, bool]) -> None:
    for name, is_checked in wanted:
        if is_checked and getattr(a, name) != getattr(b, name):
            raise AssertionError(f"{name} differs: {getattr(a, name)} and {getattr(b, name)}")


def _comparable(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as dense tensors of one type that can be compared, on one device."""
    import torch

    if a.layout != torch.strided:
        a = a.to_dense()
    if b.layout != torch.strided:
        b = b.to_dense()
    if a.device != b.device:
        a, b = a.cpu(), b.cpu()
    a, b = (_widened(one) for one in (a, b))
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _widened(tensor: Any) -> Any:
    """What torch does not compute with is compared as a wider type that has all its values."""
    import torch

    if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return tensor.to(torch.int64)
    if tensor.is_floating_point() and tensor.element_size() == 1:
        return tensor.to(torch.float32)
    return tensor
