"""`tile2triton run` and `import tile2triton.compat`: TileLang's programs, unchanged."""

import subprocess
import sys

import pytest

from tests.child_process import environment_of_a_child
from tests.warm_process import run_warm

pytestmark = pytest.mark.slow

ADD = """\
import sys

import torch

import tilelang
import tilelang.language as T
from tilelang.profiler import do_bench


@tilelang.jit(
    out_idx=[-1],
    target="cuda",
    execution_backend="cython",
    pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True},
)
def add_number(n, block=64, dtype=T.float32):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            tile = T.alloc_fragment((block,), dtype)
            T.copy(A[bx * block], tile)
            for i in T.Parallel(block):
                tile[i] = tile[i] + 2.0
            T.copy(tile, B[bx * block])

    return main


if __name__ == "__main__":
    kernel = add_number(int(sys.argv[1]))
    profiler = kernel.get_profiler(tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(lambda a: a + 2.0, atol=1e-6, rtol=1e-6)
    assert do_bench(lambda: kernel(torch.ones(100)), _n_warmup=1, _n_repeat=1) > 0
    assert "tl.load" in kernel.get_kernel_source()
    print("passed", sys.argv[1:], __name__, sys.path[0] == sys.argv[2])
"""

TEST = """\
import torch

import tilelang
import tilelang.language as T
import tilelang.testing
from helper_of_a_test import twice


@tilelang.testing.requires_cuda
def test_that_needs_a_gpu():
    raise AssertionError("there is none")


def test_of_an_eager_kernel():
    @tilelang.jit
    def double(A, block: int = 32):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        B = T.empty((n,), T.float32)
        with T.Kernel(T.ceildiv(n, block), threads=32) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = twice(A[bx * block + i])
        return B

    values = torch.randn(77)
    torch.testing.assert_close(double(values), values * 2)


if __name__ == "__main__":
    tilelang.testing.main()
"""


@pytest.fixture
def run(tmp_path):
    """Run Python with arguments in the folder of the test, without a GPU."""

    def run(*arguments, **settings):
        if arguments[0] == "-m":
            return run_warm(arguments[1:], tmp_path, **settings)
        environment = environment_of_a_child(CUDA_VISIBLE_DEVICES="", **settings)
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_script_runs_unchanged_with_its_own_arguments(run, tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    script = write(folder, "add.py", ADD)
    done = run("-m", "tile2triton", "run", script, "100", folder, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"passed ['100', '{folder}', '--help'] __main__ True\n"


def test_one_import_on_the_first_line_does_the_same(run, tmp_path):
    script = write(tmp_path, "add.py", "import tile2triton.compat\n" + ADD)
    done = run(script, "100", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"passed ['100', '{tmp_path}'] __main__ True\n"


def test_pytest_runs_tests_of_tilelang_and_skips_what_needs_a_gpu(run, tmp_path):
    write(tmp_path, "helper_of_a_test.py", "def twice(x):\n    return x * 2\n")
    write(tmp_path, "test_double.py", TEST)
    done = run("-m", "tile2triton", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout


NAMED_LIKE_TESTS = """\
import tilelang
import tilelang.language as T


@T.macro
def test_macro(x):
    return x


@T.prim_func
def test_kernel(A: T.Tensor((4,), "int32")):
    with T.Kernel(1):
        A[0] = test_macro(1)


@tilelang.jit
def test_factory(n):
    return test_kernel


@tilelang.jit
def test_eager(A):
    A: T.Tensor((4,), "int32")
    with T.Kernel(1):
        A[0] = 1


test_compiled = tilelang.compile(test_kernel)
test_tuned = tilelang.autotune(configs=[{"n": 1}])(test_factory)


def test_of_them():
    assert "tl.store" in test_compiled.get_kernel_source()
"""


def test_kernels_that_are_named_like_tests_are_none(run, tmp_path):
    write(tmp_path, "test_named.py", NAMED_LIKE_TESTS)
    done = run("-m", "tile2triton", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_file_of_tests_that_runs_pytest_itself_gives_its_exit_code(run, tmp_path):
    write(tmp_path, "helper_of_a_test.py", "def twice(x):\n    return x * 3\n")
    script = write(tmp_path, "test_double.py", TEST)
    done = run("-m", "tile2triton", "run", script, "-q", "-p", "no:cacheprovider")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 skipped" in done.stdout


@pytest.mark.parametrize(
    ("text", "code"), [("import sys\nsys.exit(7)", 7), ("raise SystemExit('no')", 1), ("x = 1", 0)]
)
def test_exit_code_is_the_scripts(run, tmp_path, text, code):
    done = run("-m", "tile2triton", "run", write(tmp_path, "leave.py", text))
    assert done.returncode == code


def test_traceback_is_the_scripts_own(run, tmp_path):
    script = write(tmp_path, "wrong.py", "def f():\n    raise ValueError('mine')\n\n\nf()\n")
    done = run("-m", "tile2triton", "run", script)
    plain = run(script)
    assert done.returncode == plain.returncode == 1
    assert done.stderr == plain.stderr


def test_program_that_needs_a_gpu_is_told_of_the_interpreter(run, tmp_path):
    script = write(tmp_path, "on_gpu.py", "import torch\ntorch.ones(1, device='cuda')\n")
    done = run("-m", "tile2triton", "run", script)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "tile2triton: there is no GPU; `tile2triton run --interpret` does without one\n"
    )
    assert run("-m", "tile2triton", "run", "--interpret", script).returncode == 0
    script.write_text("raise AssertionError('Torch not compiled with CUDA enabled')\n")
    done = run("-m", "tile2triton", "run", "--interpret", script)
    assert "there is no GPU" not in done.stderr


def test_program_that_a_program_starts_has_the_names_too(run, tmp_path):
    script = write(
        tmp_path,
        "parent.py",
        "import subprocess, sys\n"
        "sys.exit(subprocess.call([sys.executable, '-c', 'import tilelang.language as T; "
        "print(T.float16)']))\n",
    )
    done = run("-m", "tile2triton", "run", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "float16\n"


@pytest.mark.parametrize("command", [("run",), ("run", "--interpret")])
def test_processes_that_multiprocessing_spawns_have_the_names_too(run, tmp_path, command):
    script = write(
        tmp_path,
        "parent.py",
        "import multiprocessing\n"
        "import tilelang.language as T\n"
        "def name(_):\n"
        "    return str(T.float16)\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    child = context.Process(target=name, args=(0,))\n"
        "    child.start()\n"
        "    child.join()\n"
        "    print(child.exitcode)\n",
    )
    done = run("-m", "tile2triton", *command, script)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_compat_leaves_an_imported_tilelang_alone_and_says_so(run, tmp_path):
    write(tmp_path, "tilelang.py", "whose = 'theirs'\n")
    script = write(
        tmp_path,
        "late.py",
        "import tilelang\ntry:\n    import tile2triton.compat\nexcept Exception as error:\n"
        "    print(error)\nimport tilelang as again\nprint(again.whose)\n",
    )
    done = run(script)
    assert done.returncode == 0, done.stderr
    assert "error[T2T500]: `tilelang` was imported before" in done.stdout
    assert "import tile2triton.compat` above the first `import tilelang`" in done.stdout
    assert done.stdout.endswith("theirs\n")


def test_names_come_before_an_installed_tilelang(run, tmp_path):
    write(tmp_path, "tilelang.py", "raise SystemExit('theirs')\n")
    text = "import tile2triton.compat\nimport tilelang, tile2triton.compat as twice\n"
    script = write(tmp_path, "early.py", text + "print(tilelang.cdiv(7, 2), twice.is_installed())")
    assert run(script).stdout == "4 True\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "run needs a SCRIPT, or -m MODULE"),
        (["-m"], "-m needs the name of a MODULE"),
        (["--quiet", "x.py"], "run has no option `--quiet`"),
    ],
)
def test_wrong_command_says_what_is_missing(arguments, said, capsys):
    from tile2triton.cli import main

    assert main(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_missing_script_is_an_error_of_one_line(capsys, tmp_path):
    from tile2triton.cli import main

    assert main(["run", str(tmp_path / "nothing.py")]) == 1
    assert capsys.readouterr().err == f"tile2triton: there is no file `{tmp_path}/nothing.py`\n"


def test_help_says_how_scripts_and_modules_are_run(capsys):
    from tile2triton.cli import main

    assert main(["run", "--help"]) == 0
    assert "tile2triton run [--interpret [--target T]] -m MODULE" in capsys.readouterr().out
