"""From attributes of TTGIR, of Triton 3.6 and 3.9, to encodings: a table of their names."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..ttgir_text.attributes import Alias, Attribute, Value
from ..ttgir_text.module import Module
from ..ttgir_text.tensor_types import MemoryType, TensorType
from .amd_mfma import AmdMfma
from .blocked import Blocked
from .dot_operand import DotOperand
from .encoding import Encoding
from .errors import LayoutError, layout_error
from .generic_linear import GenericLinear, SharedLinear
from .linear import Bases
from .nvidia_mma import NvidiaMma
from .nvmma_shared import NvmmaShared
from .padded_shared import PaddedShared
from .slices import Slice
from .swizzled_shared import SwizzledShared

Aliases: TypeAlias = Mapping[str, Value]


def encoding_in(module: Module, type_: TensorType | MemoryType) -> Encoding:
    """The layout of a type; raises LayoutError where it is not known or there is none."""
    if type_.encoding is None:
        raise layout_error("T2T929", "a tensor without a layout", type_.element)
    return encoding_of(type_.encoding, module.aliases)


def encoding_of(value: Value, aliases: Aliases) -> Encoding:
    """The encoding that an attribute is; raises LayoutError for those that are not known."""
    while isinstance(value, Alias):
        if value.name not in aliases:
            raise layout_error("T2T929", "a layout that nothing defines", f"#{value.name}")
        value = aliases[value.name]
    reader = READERS.get(value.name) if isinstance(value, Attribute) else None
    if reader is None or not isinstance(value, Attribute):
        name = f"#{value.name}" if isinstance(value, Attribute) else str(value)
        raise layout_error("T2T929", "a layout of a kind that is not known here", name)
    try:
        return reader(value, aliases)
    except LayoutError:
        raise
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise layout_error(
            "T2T929",
            f"#{value.name} does not have the parameters that are known here",
            ", ".join(value.fields) or "no parameters",
        ) from error


def _numbers(value: Value) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return tuple(_number(item) for item in value)


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _bases(value: Value) -> Bases:
    assert isinstance(value, tuple)
    return tuple(_numbers(item) for item in value)


def _blocks(attribute: Attribute) -> Bases:
    return _bases(attribute.fields.get("CGALayout", ()))


def _blocked(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return Blocked(
        _numbers(fields["sizePerThread"]),
        _numbers(fields["threadsPerWarp"]),
        _numbers(fields["warpsPerCTA"]),
        _numbers(fields["order"]),
        _blocks(attribute),
    )


def _nvidia_mma(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return NvidiaMma(
        _number(fields["versionMajor"]),
        _numbers(fields["warpsPerCTA"]),
        _numbers(fields["instrShape"]),
        _blocks(attribute),
    )


def _amd_mfma(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return AmdMfma(
        _number(fields["version"]),
        _numbers(fields["warpsPerCTA"]),
        _numbers(fields["instrShape"]),
        bool(fields["isTransposed"]),
        _numbers(fields.get("tilesPerWarp", ())),
        _number(fields.get("elementBitWidth", 32)),
        _blocks(attribute),
    )


def _dot_operand(attribute: Attribute, aliases: Aliases) -> Encoding:
    parent = encoding_of(attribute.fields["parent"], aliases)
    assert isinstance(parent, NvidiaMma | AmdMfma | Blocked)
    fields = attribute.fields
    return DotOperand(_number(fields["opIdx"]), parent, _number(fields.get("kWidth", 0)))


def _slice(attribute: Attribute, aliases: Aliases) -> Encoding:
    parent = encoding_of(attribute.fields["parent"], aliases)
    return Slice(_number(attribute.fields["dim"]), parent)


def _linear(attribute: Attribute, aliases: Aliases) -> Encoding:
    names = ("register", "lane", "warp", "block")
    return GenericLinear(*(_bases(attribute.fields[name]) for name in names))


def _swizzled(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return SwizzledShared(
        _number(fields["vec"]),
        _number(fields["perPhase"]),
        _number(fields["maxPhase"]),
        _numbers(fields["order"]),
        _blocks(attribute),
        rotating=attribute.name.endswith("rotating_shared"),
    )


def _nvmma(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return NvmmaShared(
        _number(fields["swizzlingByteWidth"]),
        bool(fields["transposed"]),
        _number(fields["elementBitWidth"]),
        _number(fields.get("rank", 2)),
        bool(fields.get("fp4Padded", False)),
        _blocks(attribute),
    )


def _padded(attribute: Attribute, aliases: Aliases) -> Encoding:
    (gaps,) = attribute.positional
    fields = attribute.fields
    order = fields.get("order", ())
    blocks = _bases(fields.get("block", ())) or _blocks(attribute)
    offsets = _bases(fields.get("offset", ()))
    return PaddedShared(
        tuple((interval, padding) for interval, padding in _bases(gaps)),
        _numbers(order),
        offsets,
        blocks,
        _numbers(fields.get("shape", ())),
    )


def _shared_linear(attribute: Attribute, aliases: Aliases) -> Encoding:
    fields = attribute.fields
    return SharedLinear(
        # Triton 3.9 leaves out blocks where there is one.
        _bases(fields["offset"]),
        _bases(fields.get("block", ())),
        _number(fields.get("alignment", 16)),
    )


READERS: dict[str, Callable[[Attribute, Aliases], Encoding]] = {
    "ttg.blocked": _blocked,
    "ttg.nvidia_mma": _nvidia_mma,
    "ttg.amd_mfma": _amd_mfma,
    "ttg.dot_op": _dot_operand,
    "ttg.slice": _slice,
    "ttg.linear": _linear,
    "ttg.swizzled_shared": _swizzled,
    "ttg.amd_rotating_shared": _swizzled,
    "ttg.nvmma_shared": _nvmma,
    "ttg.padded_shared": _padded,
    "ttg.shared_linear": _shared_linear,
}
