"""The kernels of a Python file, and the parameters that `--set` gives them."""

import ast
import dataclasses
import difflib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tile2triton.api import transpile
from tile2triton.diagnostics import TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.declarations import Tensor
from tile2triton.frontend.dtypes import OBJECTS
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.eager_declarations import mentioned_consts
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.tune.autotune import AutotunedKernel

Source = LazyKernel | EagerKernel | OperandKernel | PrimFunc | CompiledKernel

# `float16[2, 8, 512, 64]`
_TENSOR = re.compile(r"(?:T\.)?(\w+)\[([\d, ]+)\]")


class UsageError(Exception):
    """What was typed names no such thing; exit code 2."""


class UserError(Exception):
    """The user's file is wrong, in one line; exit code 1."""


def kernels_in(place: str) -> dict[str, Source]:
    """The kernels of `FILE`, or the one of `FILE:KERNEL`, by name."""
    path, name = split_place(place)
    module = import_file(path)
    # Of a kernel that tunes itself, the kernel under it is meant.
    named = {
        key: value.kernel if isinstance(value, AutotunedKernel) else value
        for key, value in vars(module).items()
    }
    found: dict[str, Source] = {
        key: value for key, value in named.items() if isinstance(value, Source)
    }
    if name is not None:
        if name not in found:
            raise UsageError(f"{path} has no kernel `{name}`{suggestion(name, found)}")
        return {name: found[name]}
    own = {key: value for key, value in found.items() if _file_of(value) in (None, path.resolve())}
    if not own:
        raise UsageError(
            f"{path} has no kernels: functions under @tile2triton.kernel or @T.prim_func"
        )
    return own


def compiled(
    name: str, kernel: Source, settings: Mapping[str, Any], target: str | None
) -> CompiledKernel:
    """The kernel for these parameters and this target; without one, for this machine's GPU."""
    if isinstance(kernel, CompiledKernel):
        return kernel
    if isinstance(kernel, (LazyKernel, EagerKernel)):
        parameters = kernel.signature.parameters
        missing = [
            key
            for key in (kernel.statics if isinstance(kernel, EagerKernel) else parameters)
            if parameters[key].default is inspect.Parameter.empty and key not in settings
        ]
        if missing:
            values = " ".join(f"--set {key}=..." for key in missing)
            raise UserError(f"{name} needs values for {', '.join(missing)}: add {values}")
    if isinstance(kernel, OperandKernel):
        parameters = kernel.signature.parameters
        missing = [
            key
            for key, one in parameters.items()
            if one.default is inspect.Parameter.empty and key not in settings
        ]
        if missing:
            shapes = kernel.example_shapes()
            values = " ".join(f"--set '{key}={shapes[key]}'" for key in missing)
            raise UserError(f"{name} needs operands for {', '.join(missing)}: add {values}")
    try:
        return transpile(kernel, target=target, **settings)
    except TileError as error:
        raise _said_for_set(error, kernel, settings) from None
    except Exception as error:
        raise_if_ours(error)
        raise UserError(f"{name}: {in_words(error)}") from error


def _said_for_set(error: TileError, kernel: Source, settings: Mapping[str, Any]) -> TileError:
    """The error with the remedy that this command has for a size that is not known."""
    if not isinstance(kernel, EagerKernel):
        return error
    missing = [key for key in mentioned_consts(kernel.captured) if key not in settings]
    hint = f"add {' '.join(f'--set {key}=128' for key in missing)}"
    return TileError(
        *(
            dataclasses.replace(one, hint=hint) if one.code == "T2T152" and missing else one
            for one in error.diagnostics
        )
    )


def parameters_of(kernel: Source) -> frozenset[str] | None:
    """The names that `--set` may give; None where only the kernel itself can tell."""
    if isinstance(kernel, (LazyKernel, OperandKernel)):
        return frozenset(kernel.signature.parameters)
    return None if isinstance(kernel, EagerKernel) else frozenset()


def settings_of(texts: Iterable[str]) -> dict[str, Any]:
    """`["block_M=64", "dtype=float16"]` as values: literals, element types, tensors, else text."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"--set takes NAME=VALUE, not `{text}`")
        settings[key] = _value(value)
    return settings


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or what there is to choose from."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 3)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; there are {', '.join(names)}" if 0 < len(names) <= 30 else ""


def raise_if_ours(error: Exception) -> None:
    """Raise what is no mistake of the user's: errors made for users, and our own bugs."""
    frames = traceback.extract_tb(error.__traceback__)
    root = Path(__file__).parent.parent
    inside = root in Path(frames[-1].filename).parents or "rewrites" in frames[-1].filename
    if isinstance(error, (TileError, UsageError, UserError)) or inside:
        raise error


def split_place(place: str) -> tuple[Path, str | None]:
    """`FILE` or `FILE:NAME`."""
    path, colon, name = place.rpartition(":")
    if not colon or Path(place).exists() or not name.isidentifier():
        return _file(place), None
    return _file(path), name


def _file(text: str) -> Path:
    path = Path(text)
    if path.is_file():
        return path
    folder = path.parent
    there = [str(folder / entry.name) for entry in folder.glob("*.py")] if folder.is_dir() else []
    close = difflib.get_close_matches(text, there, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(f"there is no file {text}{hint}")


def import_file(path: Path) -> ModuleType:
    """The module of a file, whose imports of TileLang mean ours."""
    # The file may import its neighbours, and what is importable from the current directory.
    for folder in (str(Path.cwd()), str(path.resolve().parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    # Files of TileLang's kernels mean ours, as under `tile2triton run`.
    importlib.import_module("tile2triton.compat")
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise_if_ours(error)
        raise UserError(f"{path} cannot be imported: {in_words(error)}") from error
    return module


def _file_of(kernel: Source) -> Path | None:
    if isinstance(kernel, CompiledKernel):
        return None
    function = kernel.function if isinstance(kernel, LazyKernel) else kernel.captured.function
    return Path(inspect.getfile(function)).resolve()


def in_words(error: Exception) -> str:
    """An exception in one line, with the line it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" ({error.filename}:{error.lineno})"
        return f"{type(error).__name__}: {error.msg}{where}"
    return f"{type(error).__name__}: {error}{where}"


def _value(text: str) -> Any:
    name = text.removeprefix("T.")
    if name in OBJECTS:
        return OBJECTS[name]
    tensor = _TENSOR.fullmatch(text)
    if tensor is None and name.partition("[")[0] in OBJECTS and "[" in name:
        raise UsageError(f"`{text}` is no tensor: write float16[512,64]")
    if tensor is not None and tensor.group(1) in OBJECTS:
        shape = tuple(int(size) for size in tensor.group(2).split(","))
        return Tensor(shape, OBJECTS[tensor.group(1)])
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
