"""`tile2triton run`: a program for TileLang, as it is, with `tilelang` meaning tile2triton."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tile2triton import main_script
from tile2triton.commands.kernels import UsageError, UserError, suggestion
from tile2triton.main_script import run_script

USAGE = """\
usage: tile2triton run [--interpret [--target T]] SCRIPT [ARGUMENT ...]
       tile2triton run [--interpret [--target T]] -m MODULE [ARGUMENT ...]

Run a program that imports `tilelang`, unchanged, on Triton. It sees its own arguments, and its exit
code is the command's. Programs that it starts have `tilelang` too. Kernels run in an interpreter on
tensors that are on the CPU: right, but slow. `import tile2triton.compat` on the first line does the
same.

With --interpret a program for GPUs runs on a machine without one, as if there were one of the
target (default: cuda:90): its tensors on "cuda" live in the CPU's memory, and all its kernels are
interpreted. What it computes and compares is real. Times mean nothing, and processes that it starts
see no GPU.

examples:
  tile2triton run example_gemm.py --M 1024
  tile2triton run -m pytest test_gemm.py
  tile2triton run --interpret example_gemm.py --M 256
"""

# What torch says where a program asks for a GPU that is not there.
WITHOUT_A_GPU = (
    "Torch not compiled with CUDA enabled",
    "Found no NVIDIA driver",
    "No CUDA GPUs are available",
    "No HIP GPUs are available",
)


def run(arguments: Sequence[str]) -> int:
    """Run a script or a module as `__main__`; the exit code."""
    match list(arguments):
        case ["--interpret", *rest]:
            return _run_interpreted(rest)
        case ["--target", *_]:
            raise UsageError("--target follows --interpret")
        case ["-h" | "--help"]:
            print(USAGE, end="")
            return 0
        case ["-m"]:
            raise UsageError("-m needs the name of a MODULE")
        case ["-m", module, *rest]:
            _prepare([module, *rest], os.getcwd())
            return _finished(lambda: _run_module(module))
        case [script, *rest]:
            path = Path(script)
            if script.startswith("-") and not path.exists():
                raise UsageError(f"run has no option `{script}`; options of a script follow it")
            if not path.is_file():
                raise UserError(f"there is no file `{script}`")
            _prepare([script, *rest], str(path.resolve().parent))
            return _finished(lambda: run_script(path.absolute()))
        case _:
            raise UsageError("run needs a SCRIPT, or -m MODULE")


def _run_interpreted(arguments: list[str]) -> int:
    """Run a program as if there were a GPU."""
    from tile2triton.frontend.compiled import DEFAULT_TARGET
    from tile2triton.targets import BY_NAME

    name = DEFAULT_TARGET
    if arguments[:1] == ["--target"]:
        name, arguments = (arguments[1] if arguments[1:] else ""), arguments[2:]
        if name not in BY_NAME:
            raise UsageError(f"no target `{name}`{suggestion(name, BY_NAME)}")
    if arguments[:1] in ([], ["--interpret"], ["-h"], ["--help"]):
        return run(arguments)
    # What programs import of ours comes before what they are told is replaced.
    import tile2triton.compat  # noqa: F401
    from tile2triton.posing.interpreted import interpreting

    gpu = BY_NAME[name]
    print(
        f"tile2triton: kernels are interpreted on the CPU, as if on {gpu.label}; "
        "times mean nothing",
        file=sys.stderr,
    )
    with interpreting(gpu):
        return run(arguments)


def _prepare(arguments: list[str], folder: str) -> None:
    """Give the program its arguments and its folder, and `tilelang` to it and its children."""
    import tile2triton.compat

    sys.argv[:] = arguments
    if not sys.flags.safe_path:
        sys.path[0:1] = [folder]
    names = str(tile2triton.compat.NAMES)
    # What the program starts (workers, other scripts) finds the names without the finder.
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = names if not inherited else os.pathsep.join((names, inherited))


def _run_module(name: str) -> None:
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _finished(program: Callable[[], None]) -> int:
    """Run the program; its own traceback is shown where it fails, and not ours."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        shown = error.with_traceback(_own_part(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        if any(words in str(error) for words in WITHOUT_A_GPU) and not _has_gpu():
            print(
                "tile2triton: there is no GPU; `tile2triton run --interpret` does without one",
                file=sys.stderr,
            )
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _has_gpu() -> bool:
    """Whether the program sees a GPU, so that a child of it is what sees none."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def _own_part(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    ours = (__file__, main_script.__file__, runpy.__file__, "<frozen runpy>")
    start = traceback
    while start is not None and start.tb_frame.f_code.co_filename in ours:
        start = start.tb_next
    return start or traceback
