"""Runs one kernel in each way there is (reference meaning, interpreter, GPU) on the same input."""

from typing import Any

import ml_dtypes
import numpy as np
import torch

# NumPy has no such types of its own; ml_dtypes gives them, torch passes their bits.
BITS = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.int8, ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: (torch.int8, ml_dtypes.float8_e5m2),
}


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A copy of the tensor as an array of the same element type."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype in BITS:
        carrier, dtype = BITS[tensor.dtype]
        return tensor.view(carrier).numpy().copy().view(dtype)
    return tensor.numpy().copy()


def as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def outcomes(kernel: Any, *inputs: torch.Tensor) -> dict[str, tuple[np.ndarray, ...]]:
    """The outputs by the way they were computed, all as arrays; no way may change an input."""
    before = [to_numpy(tensor) for tensor in inputs]
    results = {"reference": as_tuple(kernel.reference(*[array.copy() for array in before]))}
    places = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for place in places:
        given = [tensor.to(place) for tensor in inputs]
        outputs = as_tuple(kernel(*given))
        name = "interpreter" if place == "cpu" else "cuda"
        results[name] = tuple(to_numpy(output) for output in outputs)
        for tensor, array in zip(given, before, strict=True):
            np.testing.assert_array_equal(to_numpy(tensor), array, err_msg=f"{name} wrote an input")
    return results


def expect(
    kernel: Any,
    inputs: tuple[torch.Tensor, ...],
    *expected: np.ndarray | float | torch.Tensor,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Every way gives the expected outputs; a number stands for all elements, NaN equals NaN."""
    for way, outputs in outcomes(kernel, *inputs).items():
        assert len(outputs) == len(expected), f"{way} gives {len(outputs)} outputs"
        for found, right in zip(outputs, expected, strict=True):
            array = to_numpy(right) if isinstance(right, torch.Tensor) else np.asarray(right)
            np.testing.assert_allclose(
                found.astype(np.float64) if found.dtype.kind not in "iub" else found,
                array.astype(np.float64) if array.dtype.kind not in "iub" else array,
                rtol=rtol,
                atol=atol,
                err_msg=f"by {way}",
            )
