"""Which module may import what, and which names the language has."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REWRITES = sorted((ROOT / "rewrites").rglob("*.py"))
PRODUCT = sorted((ROOT / "tile2triton").rglob("*.py"))
# These run or compile what was emitted, or give a type as torch's; all else needs neither.
MAY_IMPORT_TRITON = (
    "runtime.py",
    "checking/",
    "interpreter/",
    "launching/",
    "posing/",
    "compile_worker.py",
    "knobs.py",
    "frontend/dtypes.py",
    "measure.py",
    "repeats.py",
    "supply.py",
    # Runs kernels beside others, and compares what they give.
    "commands/bench.py",
    # What TileLang's users call on the host: comparing, measuring, asking about GPUs.
    "tilelang/",
    # What patches the code that Triton compiles.
    "ttgir/",
    "tune/",
)
# The operators that the language must have; `docs/operators.md` lists all.
SURFACE = """
    Kernel Tensor alloc_shared alloc_fragment alloc_var copy clear fill gemm
    reduce_sum reduce_max reduce_min reduce_absmax reduce_abssum
    Pipelined serial unroll Parallel ceildiv min max infinity cast atomic_add use_swizzle
    if_then_else Select annotate_safe_value const dynamic symbolic empty prim_func macro
    GemmWarpPolicy exp exp2 log log2 sqrt rsqrt abs floor ceil erf sigmoid sin cos tanh
    float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool
    float8_e4m3fn float8_e5m2
""".split()


def imported_names(path: Path) -> set[str]:
    """The top-level packages that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", REWRITES, ids=lambda path: path.stem)
def test_rewrites_import_only_the_standard_library_and_themselves(path):
    assert imported_names(path) <= {*sys.stdlib_module_names, "rewrites"}


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_run_time_imports_triton_and_torch(path):
    name = path.relative_to(ROOT / "tile2triton").as_posix()
    if not name.startswith(MAY_IMPORT_TRITON):
        assert not imported_names(path) & {"triton", "torch"}


def test_transpiling_imports_neither_triton_nor_torch():
    program = """
import sys
sys.modules["triton"] = sys.modules["torch"] = None
from tests.kernels.gemm_relu import gemm_relu
print(gemm_relu(256, 256, 256).triton_source)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "tl.dot" in run.stdout


@pytest.mark.parametrize("name", SURFACE)
def test_language_has_the_name(name):
    import tile2triton.language as T

    assert hasattr(T, name)
