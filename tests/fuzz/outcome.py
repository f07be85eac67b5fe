"""Run a program by its meanings, on the same numbers, and say what came of it."""

import ast
import linecache
import re
import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

from rewrites.dtypes import BY_NAME
from tests.fuzz.exact import SMALL
from tile2triton import compile as compile_kernel
from tile2triton.diagnostics import TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.reference import ProgramError, statements

# How far apart results of functions may be whose last bits differ between machines.
ROUGH_TOLERANCE = 2e-4


@dataclass(frozen=True)
class Outcome:
    """`kind` is "agree", "differ", "crash", "refused", or "undefined": the reference objects."""

    kind: str
    # What is the same in two programs that fail for one reason.
    reason: str = ""
    detail: str = ""
    triton: str = ""

    @property
    def is_failure(self) -> bool:
        return self.kind in ("crash", "differ")


# What says what comes of a module.
Judge = Callable[[str], Outcome]


def outcome(text: str, seed: int = 0, device: str = "cpu", target: str = "cuda:90") -> Outcome:
    """What both meanings of the kernel in a module make of the same numbers."""
    try:
        names = executed(text, f"<fuzz {zlib.crc32(text.encode()):08x}>")
        compiled = compile_kernel(names["kernel"], target=target)
    except TileError as error:
        codes = ",".join(sorted({item.code for item in error.diagnostics}))
        return Outcome("refused", codes, str(error))
    except Exception as error:
        return crash(error, "transpiling")
    try:
        given = arguments(compiled, names["SIZES"], seed)
    except Exception as error:
        return crash(error, "arguments")
    host = [a.clone() if isinstance(a, torch.Tensor) else a for a in given]
    try:
        compiled.reference(*host)
    except ProgramError as error:
        return Outcome("undefined", type(error).__name__, str(error), compiled.triton_source)
    except Exception as error:
        return crash(error, "reference", compiled.triton_source)
    there = [a.to(device).clone() if isinstance(a, torch.Tensor) else a for a in given]
    try:
        compiled(*there)
        if device == "cuda":
            torch.cuda.synchronize()
    except Exception as error:
        return crash(error, "running", compiled.triton_source)
    for name, wanted, got in zip(compiled.program.facts.parameters, host, there, strict=True):
        if isinstance(wanted, torch.Tensor):
            difference = compared(name, wanted, got.cpu())
            if difference and _reads_unset(compiled, given, host):
                return Outcome("undefined", "unset", difference, compiled.triton_source)
            if difference and device != "cpu" and _races(compiled, given, host):
                return Outcome("undefined", "race", difference, compiled.triton_source)
            if difference:
                return Outcome("differ", "differ", difference, compiled.triton_source)
    return Outcome("agree", triton=compiled.triton_source)


def _reads_unset(compiled: CompiledKernel, given: list[Any], host: list[Any]) -> bool:
    """Whether the results depend on what a tile held before anything was written to it."""
    for value in (0, 1):
        with mock.patch.object(statements, "unset", return_value=value):
            if _changes(compiled, given, host):
                return True
    return False


def _races(compiled: CompiledKernel, given: list[Any], host: list[Any]) -> bool:
    """Whether the results depend on the order in which the programs of a grid run."""
    ordered = statements.in_order
    with mock.patch.object(statements, "in_order", lambda extents: ordered(extents)[::-1]):
        return _changes(compiled, given, host)


def _changes(compiled: CompiledKernel, given: list[Any], host: list[Any]) -> bool:
    """Whether the reference now makes something else of the same numbers than `host`."""
    again = [a.clone() if isinstance(a, torch.Tensor) else a for a in given]
    compiled.reference(*again)
    pairs = zip(host, again, strict=True)
    return any(isinstance(a, torch.Tensor) and compared("R", a, b) for a, b in pairs)


def executed(text: str, filename: str) -> dict[str, Any]:
    """The names of a module that stands in no file."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, Any] = {"__name__": "fuzzed"}
    exec(compile(text, filename, "exec"), names)
    return names


def arguments(compiled: CompiledKernel, sizes: dict[str, int], seed: int) -> list[Any]:
    """Numbers for each parameter, by its name and type."""
    facts = compiled.program.facts
    known = {**facts.constants, **sizes}
    made: list[Any] = []
    for name in facts.parameters:
        tensor = facts.tensors.get(name)
        if tensor is None:
            made.append(sizes[name])
            continue
        shape = tuple(_size(extent, known) for extent in tensor.shape)
        chance = torch.Generator().manual_seed(zlib.crc32(name.encode()) + seed)
        made.append(numbers(shape, tensor.dtype, chance))
    return made


def _size(tree: ast.expr, known: dict[str, Any]) -> int:
    text = ast.unparse(tree).replace("T.ceildiv", "ceildiv")
    return int(eval(text, {"ceildiv": lambda a, b: -(-a // b)}, dict(known)))


def numbers(shape: tuple[int, ...], dtype: str, chance: torch.Generator) -> torch.Tensor:
    """What `exact` says that a tensor of this type holds; integers reach their ends at times."""
    kind = getattr(torch, dtype)
    if dtype in SMALL:
        bound, grain = SMALL[dtype]
        bound = min(bound, 8)
        steps = torch.randint(-bound * 2**grain, bound * 2**grain + 1, shape, generator=chance)
        return (steps / 2**grain).to(kind)
    if dtype == "bool":
        return torch.randint(0, 2, shape, generator=chance).to(kind)
    row = BY_NAME[dtype]
    low = 0 if row.kind == "uint" else -9
    made = torch.randint(low, 20, shape, generator=chance)
    far = torch.rand(shape, generator=chance) < 0.03
    end = 2 ** min(row.bits - (row.kind == "int"), 62) - 1
    return torch.where(far, torch.full(shape, end), made).to(kind)


def compared(name: str, wanted: torch.Tensor, got: torch.Tensor) -> str:
    """What differs, as text; "" where nothing does."""
    if wanted.dtype != got.dtype or wanted.shape != got.shape:
        return f"{name}: {got.dtype}{tuple(got.shape)} is not {wanted.dtype}{tuple(wanted.shape)}"
    wide = torch.float64 if wanted.dtype.is_floating_point else torch.int64
    a, b = wanted.to(wide), got.to(wide)
    same = (a == b) | (a.isnan() & b.isnan() if wide is torch.float64 else a == b)
    if name.startswith("R"):
        # In float64, where the distance of two integers does not wrap.
        a, b = a.double(), b.double()
        same |= (a - b).abs() <= ROUGH_TOLERANCE * a.abs().clamp_min(1)
    if bool(same.all()):
        return ""
    where = tuple(int(i[0]) for i in torch.nonzero(~same, as_tuple=True))
    count = int((~same).sum())
    return (
        f"{name}{list(where)} is {got[where].item()}, the reference has {wanted[where].item()}; "
        f"{count} of {same.numel()} differ"
    )


def crash(error: Exception, stage: str, triton: str = "") -> Outcome:
    frames = traceback.extract_tb(error.__traceback__)
    # Names and numbers differ between programs, and while one is made smaller.
    words = re.sub(r"\S*\d\S*|'[^']*'|\(kernel.*", "…", str(error))[:100]
    reason = f"{stage}: {type(error).__name__} in {frames[-1].name}: {words}"
    return Outcome("crash", reason, "".join(traceback.format_exception(error)[-14:]), triton)
