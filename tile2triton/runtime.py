"""Emitted text → a file in the cache directory → an imported module → a callable."""

import functools
import inspect
import linecache
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .diagnostics import Diagnostic, TileError
from .module_cache import write_module
from .resources import too_large

Launcher = Callable[..., Any]

OLDEST_TRITON = (3, 6)

_LOCK = threading.RLock()
_LOADED: dict[tuple[str, str], Launcher] = {}
# What makes the launchers that compare no shapes.
_FOR_KNOWN_SHAPES: dict[Launcher, Launcher] = {}


def load(text: str, name: str, plain: Callable[[], str] | None = None) -> Launcher:
    """The launcher `name` of an emitted module, for tensors on a GPU and on the CPU alike.

    `plain` gives the same module in plain Triton, where this one has kernels of Gluon, which the
    interpreter does not run.

    A text is imported once per process; CPU tensors run it in the interpreter. Raises `TileError`
    where Triton is missing or too old.
    """
    with _LOCK:
        launcher = _LOADED.get((text, name))
        if launcher is None:
            _require_triton()
            launcher = _dispatching(text, name, write_module(text, name), plain)
            _LOADED[text, name] = launcher
        return launcher


def for_known_shapes(launcher: Launcher) -> Launcher:
    """The same for tensors of shapes and types with which the launcher was called before."""
    make = _FOR_KNOWN_SHAPES.get(launcher)
    return launcher if make is None else make()


def import_module(text: str, path: Path, suffix: str = "") -> ModuleType:
    """A new module made of `text`, which `path` holds.

    The text itself is run, not the file, so that neither a byte-code cache nor an edit between
    writing and importing can put something else in its place.
    """
    # Triton reads a kernel's source through `linecache`; without a time the entry is not checked.
    lines = text.splitlines(keepends=True)
    linecache.cache[str(path)] = (len(text), None, lines, str(path))
    module = ModuleType(f"tile2triton_emitted_{path.stem}{suffix}")
    module.__file__ = str(path)
    # Triton and pickle look a function's module up by name.
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def _dispatching(text: str, name: str, path: Path, plain: Callable[[], str] | None) -> Launcher:
    from triton.runtime.errors import OutOfResources

    from .launching import direct_launcher

    module = import_module(text, path)
    compiled: Launcher = getattr(module, name)
    names = tuple(inspect.signature(compiled).parameters)
    on_cpu: Launcher | None = None
    # Where the first tensor stands among the positional arguments; found at the first call.
    position = 0

    @functools.wraps(compiled)
    def launch(*args: Any, **kwargs: Any) -> Any:
        try:
            is_on_gpu = args[position].is_cuda
        except (AttributeError, IndexError):
            return launch_by_search(args, kwargs)
        if not is_on_gpu:
            return launch_on_cpu(args, kwargs)
        return launch_on_gpu(args, kwargs)

    def launch_on_gpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return compiled(*args, **kwargs)
        except (OutOfResources, RuntimeError, ValueError) as error:
            explain(error, *args, **kwargs)
            raise

    def explain(error: Exception, *args: Any, **kwargs: Any) -> None:
        """Raise an error that says more, where there is one."""
        if isinstance(error, OutOfResources):
            problem = too_large(name, error.name, error.required, error.limit, "this GPU")
            raise TileError(problem) from error
        require_one_device(name, named(args, kwargs))

    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(names, args, strict=False)) | kwargs

    def launch_by_search(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal position
        for index, value in enumerate(args):
            if _is_tensor(value):
                position = index
                return launch(*args, **kwargs)
        tensors = [value for value in kwargs.values() if _is_tensor(value)]
        # A kernel without tensor arguments runs where the launcher allocates its outputs.
        if tensors[0].is_cuda if tensors else _has_gpu():
            return launch_on_gpu(args, kwargs)
        return launch_on_cpu(args, kwargs)

    def launch_on_cpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal on_cpu
        require_one_device(name, named(args, kwargs))
        if on_cpu is None:
            if plain is None:
                on_cpu = _interpreted(text, name, path)
            else:
                on_cpu = _interpreted(plain(), name, write_module(plain(), name))
        return on_cpu(*args, **kwargs)

    make = functools.partial(direct_launcher, module, text, name, launch, explain)
    # Most calls are of tensors that fit, on a GPU; that function asks for nothing else.
    direct = make()
    if direct is not None:
        _FOR_KNOWN_SHAPES[direct] = functools.partial(make, shapes_are_known=True)
    return direct or launch


def _interpreted(text: str, name: str, path: Path) -> Launcher:
    """The launcher of a second import, whose kernels run on the CPU."""
    try:
        from .interpreter import interpret
    except ImportError as error:
        raise _failure(
            "T2T403",
            f"running `{name}` on CPU tensors needs {error.name}",
            "pip install tile2triton",
        ) from error
    with _LOCK:
        module = import_module(text, path, "_on_cpu")
    interpret(module)
    launcher: Launcher = getattr(module, name)
    return launcher


def _require_triton() -> None:
    try:
        import triton
    except ImportError as error:
        raise _failure(
            "T2T403",
            f"running a kernel needs Triton, which cannot be imported: {error}",
            'pip install "triton>=3.6" torch (Linux only; transpiling works without it)',
        ) from error
    if tuple(int(part) for part in triton.__version__.split(".")[:2]) < OLDEST_TRITON:
        raise _failure(
            "T2T403",
            f"Triton {triton.__version__} is too old",
            'pip install "triton>=3.6"',
        )


def require_one_device(name: str, arguments: Mapping[str, Any]) -> None:
    """All tensors are on the CPU, or all on one GPU."""
    first: tuple[str, Any] | None = None
    for key, value in arguments.items():
        if not _is_tensor(value):
            continue
        if value.device.type not in ("cpu", "cuda"):
            raise _failure(
                "T2T402",
                f"argument `{key}` of `{name}` is a tensor on {value.device}",
                "move its tensors to a GPU (`.cuda()`) or to the CPU (`.cpu()`)",
            )
        first = first or (key, value.device)
        if value.device != first[1]:
            raise ValueError(
                f"{key} must be on {first[1]}, where {first[0]} is, found {value.device}; "
                f"pass {key}.to('{first[1]}')"
            )


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _failure(code: str, message: str, hint: str) -> TileError:
    return TileError(Diagnostic(code=code, message=message, hint=hint))
