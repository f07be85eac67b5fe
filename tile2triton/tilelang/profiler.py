"""`kernel.get_profiler()`: compare a kernel with a reference, and measure it, on made-up inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tile2triton.measure import do_bench
from tile2triton.supply import TensorSupplyType
from tile2triton.tilelang.closeness import torch_assert_close
from tile2triton.tilelang.inputs import get_tensor_supply

if TYPE_CHECKING:
    from tile2triton.tilelang.kernel import TileLangKernel

Inputs = Sequence[Any] | None


class Profiler:
    """Calls one kernel on inputs that it makes up, where none are given."""

    def __init__(
        self, kernel: TileLangKernel, supply_type: TensorSupplyType = TensorSupplyType.Auto
    ) -> None:
        self.kernel = kernel
        self.supply_type = supply_type

    @property
    def func(self) -> Callable[..., Any]:
        return self.kernel  # type: ignore[return-value]

    @property
    def params(self) -> list[Any]:
        return list(self.kernel.params)

    @property
    def result_idx(self) -> list[int]:
        return self.kernel.out_idx

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.func(*arguments, **keywords)

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Inputs = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Compare what the kernel returns with what the reference returns for the same inputs."""
        for ours, theirs in zip(*self._both(reference_program, input_tensors), strict=True):
            # A reference that gives None has nothing to say about that output.
            if ours is not None and theirs is not None:
                torch_assert_close(
                    _readable(ours),
                    _readable(theirs),
                    rtol=rtol,
                    atol=atol,
                    max_mismatched_ratio=max_mismatched_ratio,
                    base_name="kernel",
                    ref_name="reference",
                )

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Inputs = None,
        manual_check_prog: Callable[[list[Any], list[Any]], Any] | None = None,
    ) -> None:
        """Hand the outputs of both, as lists, to a function that compares them."""
        if manual_check_prog is None:
            raise ValueError("manual_check_prog must say what is close")
        ours, theirs = self._both(reference_program, input_tensors)
        manual_check_prog(ours, theirs)

    def assert_consistent(self, repeat: int = 10) -> None:
        """Call the kernel again and again on the same inputs; its outputs must not differ."""
        import torch

        inputs = self._get_inputs()
        first = [one.clone() for one in _listed(self.func(*inputs))]
        for _ in range(repeat):
            for one, other in zip(_listed(self.func(*inputs)), first, strict=True):
                if not torch.allclose(one, other):
                    raise AssertionError(f"the kernel's results differ:\n{one}\n{other}")

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Call the kernel, or `func`, once."""
        return (func or self.func)(*self._get_inputs())

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Inputs = None,
        backend: Literal["event", "cupti", "cudagraph"] = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: Literal["min", "max", "mean", "median"] = "mean",
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
        device: Any = None,
        early_stop_baseline: float | None = None,
    ) -> float | list[float]:
        """Milliseconds that the kernel, or `func`, takes."""
        inputs = (
            self._get_inputs(dynamic_symbolic_constraints=dynamic_symbolic_constraints)
            if input_tensors is None
            else input_tensors
        )
        return do_bench(
            functools.partial(func or self.func, *inputs),
            warmup=warmup,
            rep=rep,
            _n_warmup=n_warmup,
            _n_repeat=n_repeat,
            quantiles=quantiles,
            backend=backend,
            return_mode=return_mode,
            device=device,
            early_stop_baseline=early_stop_baseline,
        )

    def _get_inputs(
        self,
        with_output: bool = False,
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
    ) -> list[Any]:
        """Inputs that are made up; the name is private in TileLang too, and in use."""
        supply = get_tensor_supply(self.supply_type, dynamic_symbolic_constraints)
        return [supply(one) for one in self._get_params(with_output)]

    def _get_params(self, with_output: bool = False) -> list[Any]:
        outputs = () if with_output else self.result_idx
        return [one for at, one in enumerate(self.params) if at not in outputs]

    def _both(
        self, reference: Callable[..., Any], input_tensors: Inputs
    ) -> tuple[list[Any], list[Any]]:
        """What the kernel and the reference return for the same inputs."""
        inputs = self._get_inputs() if input_tensors is None else input_tensors
        theirs = _listed(reference(*inputs))
        ours = _listed(self.func(*inputs))
        if len(ours) != len(theirs):
            raise AssertionError(
                f"the kernel returns {len(ours)} tensors, the reference {len(theirs)}"
            )
        return ours, theirs


def _listed(outputs: Any) -> list[Any]:
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _readable(tensor: Any) -> Any:
    """8-bit floats as a type that they can be compared in, whatever the reference returns."""
    is_tiny = tensor.is_floating_point() and tensor.element_size() == 1
    return tensor.float() if is_tiny else tensor
