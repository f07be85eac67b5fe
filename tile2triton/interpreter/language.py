"""`triton.language` as an interpreted kernel sees it: a mirror, so that Triton stays untouched."""

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime.jit import ConstexprFunction

from . import reduction
from .rewrite import rewritten
from .semantic import KERNELS, Tensor, bind, semantic


class DeviceFunction:
    """A `@triton.jit` function that runs on NumPy values; `fn` is what the user wrote."""

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn

    @functools.cached_property
    def body(self) -> Callable[..., Any]:
        return rewritten(self.fn, seen_names(self.fn))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.body(*args, **kwargs)


@functools.cache
def interpreted(function: Any) -> DeviceFunction:
    return DeviceFunction(function.fn)


def seen_names(fn: FunctionType) -> dict[str, Any]:
    """What the names in a kernel mean when it is interpreted."""
    closure = inspect.getclosurevars(fn).nonlocals
    names = {name: mirror(value) for name, value in {**fn.__globals__, **closure}.items()}
    return {**_BUILTINS, **names, **_SUPPORT}


def mirror(value: Any) -> Any:
    """The interpreter's counterpart of anything that a kernel can name."""
    if isinstance(value, tl.constexpr):
        return value.value
    if isinstance(value, KERNELS):
        return interpreted(value)
    if isinstance(value, ConstexprFunction):
        return _unwrapping(value)
    if isinstance(value, ModuleType):
        return Mirror(value) if value.__name__.startswith("triton.language") else value
    if isinstance(value, type) or callable(value):
        if _is_hashable(value) and value in _REPLACED:
            return _REPLACED[value]
        if tl.core.is_builtin(value):
            return bind(value)
    return value


class Mirror:
    """A module of Triton's language whose functions can be called."""

    def __init__(self, module: ModuleType) -> None:
        # `libdevice` itself only declares names; each back end holds the definitions, and
        # what a definition means is looked up by its symbol.
        self._module = cuda_libdevice if module is libdevice else module

    def __getattr__(self, name: str) -> Any:
        value = mirror(getattr(self._module, name))
        setattr(self, name, value)
        return value


class _Static:
    """`tl.constexpr(x)`: the plain value, as everything static is here."""

    def __new__(cls, value: Any) -> Any:
        return unwrap(value)


def unwrap(value: Any) -> Any:
    """Static values as plain Python: constexpr wrappers and tuples of them."""
    if isinstance(value, tl.constexpr):
        return value.value
    if type(value) in (tuple, list, tl.tuple):
        return tuple(unwrap(item) for item in value)
    return value


def assigned(value: Any) -> Any:
    """The value of `name = ...`: numbers become scalars, as they do when compiled."""
    if isinstance(value, Tensor):
        return value
    value = unwrap(value)
    if isinstance(value, tuple):
        return tuple(assigned(item) for item in value)
    return semantic.to_tensor(value, check_type=False)


def truth(value: Any) -> bool:
    """The condition of an `if` or `while`."""
    if isinstance(value, Tensor):
        if value.type.is_block():
            raise TypeError("a block cannot be the condition of `if`, `while` or `x if c else y`")
        return bool(value.handle.data)
    return bool(unwrap(value))


def all_of(*operands: Callable[[], Any]) -> Any:
    """`a and b`: static operands short-circuit, others are all computed, as when compiled."""
    return _logical(operands, False, semantic.logical_and)


def any_of(*operands: Callable[[], Any]) -> Any:
    """`a or b`, like `all_of`."""
    return _logical(operands, True, semantic.logical_or)


def negated(value: Any) -> Any:
    """`not a`."""
    return semantic.not_(value) if isinstance(value, Tensor) else not unwrap(value)


def checked(condition: Any, message: Any = "") -> None:
    """`assert` and `tl.static_assert`."""
    holds = condition.handle.data.all() if isinstance(condition, Tensor) else unwrap(condition)
    if not holds:
        raise AssertionError(message)


def types_of(
    names: dict[str, Any], chosen: tuple[str, ...], condition: Any = None
) -> dict[str, Any]:
    """The types of variables before a branch or loop; of a static branch none are kept."""
    if condition is not None and not isinstance(condition, Tensor):
        return {}
    return {name: names[name].type for name in chosen if isinstance(names.get(name), Tensor)}


def same_types(before: dict[str, Any], names: dict[str, Any]) -> None:
    """Refuse a branch or loop that leaves another type in a variable, as the compiler does."""
    for name, type in before.items():
        now = names[name]
        if not isinstance(now, Tensor) or now.type != type:
            found = now.type if isinstance(now, Tensor) else now
            raise TypeError(f"`{name}` is {type} before a branch or loop, and {found} behind it")


def counted(start: Any, stop: Any = None, step: Any = None, **options: Any) -> Iterator[Tensor]:
    """`range` and `tl.range`: the loop variable is a run-time scalar; options change no result."""
    if stop is None:
        start, stop = 0, start
    bounds = [assigned(bound) for bound in (start, stop, 1 if step is None else step)]
    dtype = functools.reduce(semantic.integer_promote_impl, (bound.dtype for bound in bounds))
    for value in range(*(int(bound.handle.data) for bound in bounds)):
        yield semantic.scalar_constant(value, dtype)


def unrolled(start: Any, stop: Any = None, step: Any = None) -> range:
    """`tl.static_range`: the loop variable is a Python number."""
    start, stop, step = unwrap(start), unwrap(stop), unwrap(step)
    return range(start) if stop is None else range(start, stop, 1 if step is None else step)


def _logical(operands: tuple[Callable[[], Any], ...], decisive: bool, combine: Any) -> Any:
    tensors: list[Tensor] = []
    value: Any = None
    for operand in operands:
        value = operand()
        if isinstance(value, Tensor):
            tensors.append(value)
        elif bool(unwrap(value)) is decisive:
            return value
    return functools.reduce(combine, tensors) if tensors else value


def _unwrapping(function: ConstexprFunction) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return unwrap(function(*args, **kwargs))

    return call


def _choosing(of_numbers: Callable[..., Any], of_tensors: Any) -> Callable[..., Any]:
    """Python's `min` and `max`: a Python number of Python numbers, else a tensor."""
    choose = bind(of_tensors)

    def call(*args: Any) -> Any:
        values = [unwrap(one) for one in args]
        if any(isinstance(value, Tensor) for value in values):
            return functools.reduce(choose, values)
        return of_numbers(values)

    return call


def _same(value: Any, *_: Any, **__: Any) -> Any:
    """A hint about a value."""
    return value


def _is_hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


# Functions of Triton's language that the compiler itself implements, or that only give hints.
_REPLACED: dict[Any, Any] = {
    range: counted,
    tl.range: counted,
    tl.static_range: unrolled,
    tl.constexpr: _Static,
    tl.static_assert: checked,
    tl.static_print: print,
    tl.multiple_of: _same,
    tl.max_contiguous: _same,
    tl.max_constancy: _same,
    tl.core.condition: _same,
    tl.reduce: reduction.reduce,
    tl.core.reduce: reduction.reduce,
    tl.core._reduce_with_indices: reduction.reduce_with_indices,
    tl.associative_scan: reduction.scan,
    tl.core.associative_scan: reduction.scan,
}
_BUILTINS = {
    "range": counted,
    "min": _choosing(min, tl.minimum),
    "max": _choosing(max, tl.maximum),
}
# The names that `rewrite` puts into a kernel's text.
_SUPPORT = {
    "__assigned__": assigned,
    "__static__": unwrap,
    "__truth__": truth,
    "__all_of__": all_of,
    "__any_of__": any_of,
    "__negated__": negated,
    "__types__": types_of,
    "__same_types__": same_types,
    "__checked__": checked,
}
