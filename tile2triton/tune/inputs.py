"""What candidates are measured on: given inputs, a call's own, those of a function, or made up."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tile2triton.supply import TensorSupplyType, parameters, supply

if TYPE_CHECKING:
    from tile2triton.frontend.compiled import CompiledKernel

_given: contextvars.ContextVar[tuple[Any, ...] | None] = contextvars.ContextVar(
    "autotune_inputs", default=None
)


@contextlib.contextmanager
def set_autotune_inputs(*inputs: Any) -> Iterator[None]:
    """Tune on these inputs inside the block: `set_autotune_inputs(a, b)`, or one list of them."""
    is_list = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
    token = _given.set(tuple(inputs[0]) if is_list else inputs)
    try:
        yield
    finally:
        _given.reset(token)


def get_autotune_inputs() -> list[Any] | None:
    """The inputs of the innermost `set_autotune_inputs` block, None outside of any."""
    given = _given.get()
    return None if given is None else list(given)


class Inputs:
    """The inputs of each candidate; those that take the same shapes and types share them.

    What is given comes first, then `supply_prog`, then the arguments of the call that tunes, then
    tensors of `supply_type`.
    """

    def __init__(
        self,
        call: Sequence[Any] | None,
        supply_prog: Callable[..., Any] | None,
        supply_type: TensorSupplyType,
        device: str,
    ) -> None:
        self.given = get_autotune_inputs()
        if self.given is None and supply_prog is None and call is not None:
            if TensorSupplyType(supply_type) is TensorSupplyType.Auto:
                self.given = list(call)
        self.supply_prog = supply_prog
        self.supply_type = supply_type
        self.device = device
        self._made: dict[object, list[Any]] = {}

    def key_of(self, kernel: CompiledKernel) -> object:
        """Equal for candidates that run on the same inputs."""
        return None if self.given is not None else parameters(kernel.program.facts)

    def of(self, kernel: CompiledKernel) -> list[Any]:
        """The inputs of a candidate. Raises `SupplyError` where they cannot be made up."""
        if self.given is not None:
            return self.given
        wanted = parameters(kernel.program.facts)
        if wanted not in self._made:
            if self.supply_prog is not None:
                self._made[wanted] = list(self.supply_prog(list(wanted)))
            else:
                self._made[wanted] = supply(wanted, self.supply_type, self.device)
        return self._made[wanted]

    def forget(self) -> None:
        """Let go of what was made up."""
        self._made.clear()
