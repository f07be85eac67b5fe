"""Triton's builder interface on NumPy: each operation is computed where the compiler emits it."""

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from . import elementwise, inline_asm, libdevice
from .memory import Memory, block_addresses
from .numbers import Array, convert, numpy_dtype, round_to_tf32, widen
from .values import DescriptorValue, Value


class Builder:
    """What Triton's semantic rules call. Types are Triton's own objects; values are `Value`.

    One builder serves all threads: what belongs to a launch lies in `launch`. An operation that is
    missing here is refused by name, so that nothing is computed wrongly in silence.
    """

    def __init__(self) -> None:
        self.launch = threading.local()
        self.options = SimpleNamespace(
            debug=True,
            sanitize_overflow=False,
            arch=None,
            backend_name="cpu",
            extern_libs=None,
            supported_fp8_dtypes=("fp8e5", "fp8e5b16", "fp8e4nv", "fp8e4b8"),
            deprecated_fp8_dot_operand_dtypes=(),
            default_dot_input_precision="tf32",
            allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
            max_num_imprecise_acc_default=0,
        )
        self.codegen_fns = {
            "min_dot_size": lambda lhs, rhs: (1, 1, 1),
            "convert_custom_types": _refuse_custom_types,
        }

    def __getattr__(self, name: str) -> Any:
        found = elementwise.OPERATIONS.get(name)
        if found is not None:
            return found
        if name in _CONSTANTS:
            dtype = _CONSTANTS[name]
            return lambda value: Value(_constant(value, dtype), dtype)
        if name in _TYPES:
            return lambda: _TYPES[name]
        raise NotImplementedError(
            f"Triton's `{name.removeprefix('create_')}` has no meaning on the CPU; "
            "run this kernel on a GPU"
        )

    # Types and constants

    def get_ptr_ty(self, element: Any, address_space: int) -> Any:
        return tl.pointer_type(element, address_space)

    def get_block_ty(self, element: Any, shape: Any) -> Any:
        return tl.block_type(element, shape)

    def get_null_value(self, dtype: Any) -> Value:
        return Value(np.zeros((), numpy_dtype(dtype)), dtype.scalar)

    def get_all_ones_value(self, dtype: Any) -> Value:
        return Value(np.asarray(-1).astype(numpy_dtype(dtype)), dtype.scalar)

    def get_cache_policy(self, *_: Any) -> None:
        return None

    # Conversions

    def create_int_cast(self, value: Value, dtype: Any, *_: Any) -> Value:
        return Value(convert(value.data, numpy_dtype(dtype)), dtype.scalar)

    create_si_to_fp = create_ui_to_fp = create_fp_ext = create_fp_trunc = create_int_cast
    create_fp_to_si = create_int_cast

    def create_fp_to_ui(self, value: Value, dtype: Any) -> Value:
        # The rules name integer types without their sign; this operation implies it.
        unsigned = np.dtype(f"u{numpy_dtype(dtype).itemsize}")
        return Value(convert(value.data, unsigned), getattr(tl, unsigned.name))

    def create_fp_to_fp(self, value: Value, dtype: Any, rounding: Any) -> Value:
        if rounding == ir.ROUNDING_MODE.RTZ:
            raise NotImplementedError("rounding towards zero has no meaning on the CPU")
        return self.create_int_cast(value, dtype)

    def create_bitcast(self, value: Value, dtype: Any) -> Value:
        return Value(value.data.view(numpy_dtype(dtype)), dtype.scalar)

    def create_inline_asm(
        self, text: str, constraints: str, inputs: list[Value], *_: Any
    ) -> inline_asm.Outputs:
        return inline_asm.run(text, inputs)

    def create_int_to_ptr(self, value: Value, dtype: Any) -> Value:
        self.memory.is_open = True
        # Triton passes a small number, such as the address of a program's own heap, in 32 bits.
        return self.create_bitcast(self.create_int_cast(value, tl.int64), dtype)

    create_ptr_to_int = create_bitcast

    # The grid

    def create_get_program_id(self, axis: int) -> Value:
        return Value(np.asarray(self.launch.program[axis], np.int32), tl.int32)

    def create_get_num_programs(self, axis: int) -> Value:
        return Value(np.asarray(self.launch.grid[axis], np.int32), tl.int32)

    # Memory

    @property
    def memory(self) -> Memory:
        memory: Memory = self.launch.memory
        return memory

    def create_addptr(self, pointer: Value, offset: Value) -> Value:
        size = numpy_dtype(pointer.dtype.element_ty).itemsize
        step = (offset.data.astype(np.int64) * size).astype(np.uint64)
        return Value(np.asarray(pointer.data + step), pointer.dtype)

    def create_load(self, pointer: Value, *_: Any) -> Value:
        return self.create_masked_load(pointer, None, None)

    def create_masked_load(
        self, pointer: Value, mask: Value | None, other: Value | None, *_: Any
    ) -> Value:
        element = pointer.dtype.element_ty
        fill = None if other is None else other.data
        on = None if mask is None else mask.data
        return Value(self.memory.load(pointer.data, on, fill, numpy_dtype(element)), element)

    def create_store(self, pointer: Value, value: Value, *_: Any) -> None:
        self.memory.store(pointer.data, value.data, None)

    def create_masked_store(self, pointer: Value, value: Value, mask: Value, *_: Any) -> None:
        self.memory.store(pointer.data, value.data, mask.data)

    def create_atomic_rmw(
        self, operation: Any, pointer: Value, value: Value, mask: Value, *_: Any
    ) -> Value:
        combine = elementwise.ATOMICS[str(operation).rpartition(".")[2]]
        old = self.memory.update(pointer.data, value.data, mask.data, combine)
        return Value(old, value.dtype)

    def create_atomic_cas(self, pointer: Value, old: Value, new: Value, *_: Any) -> Value:
        if pointer.data.ndim:
            raise NotImplementedError("`tl.atomic_cas` on a block has no meaning on the CPU")
        wanted = old.data
        found = self.memory.update(
            pointer.data,
            new.data,
            np.asarray(True),
            lambda before, value: np.where(before == wanted, value, before),
        )
        return Value(found, new.dtype)

    # Descriptors

    def create_make_tensor_descriptor(
        self, base: Value, shape: Any, strides: Any, block: Any, is_signed: bool, padding: Any
    ) -> DescriptorValue:
        return DescriptorValue(
            int(base.data),
            base.dtype.element_ty,
            tuple(int(extent.data) for extent in shape),
            tuple(int(stride.data) for stride in strides),
            tuple(block),
            padding == ir.PADDING_OPTION.PAD_NAN,
        )

    def create_descriptor_load(self, descriptor: DescriptorValue, offsets: Any, *_: Any) -> Value:
        dtype = numpy_dtype(descriptor.element)
        addresses, mask = block_addresses(descriptor, _integers(offsets), dtype.itemsize)
        fill = np.full((), np.nan if descriptor.pads_with_nan else 0, dtype)
        data = self.memory.load(addresses, mask, fill, dtype)
        if descriptor.rounds_to_tf32:
            data = round_to_tf32(data)
        return Value(data, descriptor.element)

    def create_descriptor_store(
        self, descriptor: DescriptorValue, value: Value, offsets: Any
    ) -> None:
        itemsize = value.data.dtype.itemsize
        addresses, mask = block_addresses(descriptor, _integers(offsets), itemsize)
        self.memory.store(addresses, value.data, mask)

    def create_descriptor_reduce(
        self, kind: Any, descriptor: DescriptorValue, value: Value, offsets: Any
    ) -> None:
        itemsize = value.data.dtype.itemsize
        addresses, mask = block_addresses(descriptor, _integers(offsets), itemsize)
        combine = elementwise.ATOMICS[str(kind).rpartition(".")[2]]
        self.memory.update(addresses, value.data, mask, combine)

    # Shapes

    def create_make_range(self, dtype: Any, start: int, stop: int) -> Value:
        return Value(np.arange(start, stop, dtype=np.int32), tl.int32)

    def create_splat(self, dtype: Any, value: Value) -> Value:
        return Value(np.broadcast_to(value.data, dtype.shape), value.dtype)

    def create_broadcast(self, value: Value, shape: Any) -> Value:
        return Value(np.broadcast_to(value.data, shape), value.dtype)

    def create_unsplat(self, value: Value) -> Value:
        return Value(value.data.reshape(()), value.dtype)

    def create_reshape(self, value: Value, shape: Any, *_: Any) -> Value:
        return Value(value.data.reshape(shape), value.dtype)

    def create_trans(self, value: Value, order: Any) -> Value:
        return Value(np.transpose(value.data, order), value.dtype)

    def create_expand_dims(self, value: Value, axis: int) -> Value:
        return Value(np.expand_dims(value.data, axis), value.dtype)

    def create_cat(self, lhs: Value, rhs: Value) -> Value:
        return Value(np.concatenate([lhs.data, rhs.data]), lhs.dtype)

    def create_join(self, lhs: Value, rhs: Value) -> Value:
        return Value(np.stack([lhs.data, rhs.data], axis=-1), lhs.dtype)

    def create_split(self, value: Value) -> tuple[Value, Value]:
        return Value(value.data[..., 0], value.dtype), Value(value.data[..., 1], value.dtype)

    def create_gather(self, source: Value, index: Value, axis: int) -> Value:
        index_data = index.data.astype(np.int64)
        if ((index_data < 0) | (index_data >= source.data.shape[axis])).any():
            raise IndexError(f"`tl.gather` index outside 0..{source.data.shape[axis] - 1}")
        return Value(np.take_along_axis(source.data, index_data, axis), source.dtype)

    def create_histogram(self, value: Value, bins: int, mask: Value | None) -> Value:
        inside = (value.data >= 0) & (value.data < bins)
        if mask is not None:
            inside &= mask.data
        counts = np.bincount(value.data[inside].astype(np.int64), minlength=bins)
        return Value(counts.astype(np.int32), tl.int32)

    # Matrix products

    def create_dot(self, lhs: Value, rhs: Value, accumulator: Value, *_: Any) -> Value:
        """Operands are exact (tf32 is not imitated); sums are float32, or exact for integers."""
        result = accumulator.data.dtype
        if lhs.data.dtype.kind in "iu":
            exact = np.matmul(lhs.data.astype(np.float64), rhs.data.astype(np.float64))
            return Value(exact.astype(np.int64).astype(result) + accumulator.data, tl.int32)
        wide = np.float64 if result == np.float64 else np.float32
        product = np.matmul(widen(lhs.data).astype(wide), widen(rhs.data).astype(wide))
        return Value((product + accumulator.data.astype(wide)).astype(result), accumulator.dtype)

    # Effects

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, values: Any, dtype: Any, is_pure: bool
    ) -> Value:
        data = libdevice.call(symbol, [value.data for value in values])
        return Value(data.astype(numpy_dtype(dtype), copy=False), dtype.scalar)

    def create_assume(self, condition: Value) -> None:
        if not condition.data.all():
            raise AssertionError("`tl.assume` of a condition that does not hold")

    def create_assert(self, condition: Value, message: str) -> None:
        if not condition.data.all():
            raise AssertionError(message)

    def create_print(self, prefix: str, as_hex: bool, values: Any, *_: Any) -> None:
        if not values:
            print(f"{self.launch.program}{prefix}")
        for value in values:
            print(f"{self.launch.program}{prefix}{value.data}")

    def create_barrier(self, *_: Any) -> None:
        return None


_TYPES = {
    "get_void_ty": tl.void,
    "get_int1_ty": tl.int1,
    "get_int8_ty": tl.int8,
    "get_int16_ty": tl.int16,
    "get_int32_ty": tl.int32,
    "get_int64_ty": tl.int64,
    "get_half_ty": tl.float16,
    "get_bf16_ty": tl.bfloat16,
    "get_float_ty": tl.float32,
    "get_double_ty": tl.float64,
    "get_fp8e4nv_ty": tl.float8e4nv,
    "get_fp8e4b8_ty": tl.float8e4b8,
    "get_fp8e5_ty": tl.float8e5,
    "get_fp8e5b16_ty": tl.float8e5b16,
}

_CONSTANTS = {
    f"get_{dtype.name}": dtype
    for dtype in (
        *(tl.int1, tl.int8, tl.int16, tl.int32, tl.int64),
        *(tl.uint8, tl.uint16, tl.uint32, tl.uint64),
        *(tl.float16, tl.bfloat16, tl.float32, tl.float64),
    )
}


def _constant(value: Any, dtype: Any) -> Array:
    target = numpy_dtype(dtype)
    if target.kind in "iub":
        if isinstance(value, float):
            raise TypeError(f"the number {value} is no {dtype}")
        return np.asarray(value).astype(target)
    return convert(np.asarray(value, np.float64), target)


def _integers(offsets: Any) -> tuple[int, ...]:
    return tuple(int(offset.data) for offset in offsets)


def _refuse_custom_types(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("Triton type fp8e4b15 has no meaning on the CPU")
