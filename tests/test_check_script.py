"""`tile2triton check SCRIPT`: which kernels are found in a script, and how the script ends."""

import json
import os
import sys
import textwrap
import threading

import pytest

from tile2triton.checking.events import Teller, told
from tile2triton.cli import main

HEAD = """\
import torch
import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[1])
def scale(n, factor=2.0, block=64, dtype="float16"):
    @T.prim_func
    def scale_rows(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            x = T.alloc_fragment((block,), dtype)
            T.copy(X[bx * block], x)
            for i in T.Parallel(block):
                x[i] = x[i] * factor
            T.copy(x, Y[bx * block])

    return scale_rows


@tile2triton.kernel
def shift(X, Offsets, block=64):
    n, m = T.const("n, m")
    X: T.Tensor((n,), "float32")
    Offsets: T.Tensor((m,), "int32")
    Y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
        x = T.alloc_fragment((block,), "float32")
        T.copy(X[bx * block], x)
        for i in T.Parallel(block):
            x[i] = x[i] + Offsets[0]
        T.copy(x, Y[bx * block])
    return Y


@tile2triton.kernel
def in_place(X, block=64):
    n = T.const("n")
    X: T.Tensor((n,), "int32")
    with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
        x = T.alloc_fragment((block,), "int32")
        T.copy(X[bx * block], x)
        for i in T.Parallel(block):
            x[i] = x[i] + 1
        T.copy(x, X[bx * block])


@tile2triton.kernel
def wrong(X):
    n = T.const("n")
    X: T.Tensor((n,), "float32")
    with T.Kernel(1, threads=128) as bx:
        x = T.alloc_fragment((64, 64), "float32")
        T.reduce_sum(x, x, dim=1)


"""

# Each runs scripts in processes of their own, which takes seconds.
pytestmark = [pytest.mark.compile, pytest.mark.slow]


@pytest.fixture
def check(tmp_path, capfd):
    """Run `check` on a script: its exit code, the report, and the report for machines."""

    def run(body, *options, head=HEAD, arguments=(), targets=("cuda:90",), compiles=False):
        path, out = tmp_path / "script.py", tmp_path / "out.json"
        path.write_text(head + textwrap.dedent(body))
        command = ["check", str(path), "--json", str(out), *options]
        command += [part for target in targets for part in ("--target", target)]
        command += [] if compiles else ["--no-compile"]
        code = main([*command, "--", *arguments])
        return code, capfd.readouterr().out, json.loads(out.read_text())

    return run


def test_a_script_whose_kernels_pass_finishes(check):
    code, report, found = check(
        """
        if __name__ == "__main__":
            import sys
            n = int(sys.argv[1])
            x = torch.randn(n, device="cuda", dtype=torch.float16)
            y = scale(n)(x)
            assert y.shape == (500,) and y.dtype == torch.float16 and y.is_cuda
            torch.testing.assert_close(y, x * 2)
        """,
        arguments=("500",),
        targets=("cuda:90", "hip:gfx942"),
    )
    assert code == 0
    assert "the script finished\n  1 comparison of tensors not made" in report
    (kernel,) = found["kernels"]
    assert (kernel["name"], kernel["launches"], kernel["ok"]) == ("scale_rows", 1, True)
    assert set(kernel["paths"]) == {"cuda:90", "hip:gfx942"}


@pytest.mark.cold
def test_kernels_are_compiled_for_each_target_once(check):
    code, report, found = check(
        """
        for _ in range(3):
            scale(512)(torch.randn(512, device="cuda", dtype=torch.float16))
        """,
        targets=("cuda:90", "hip:gfx942"),
        compiles=True,
    )
    assert code == 0
    (kernel,) = found["kernels"]
    assert kernel["launches"] == 3
    assert [row["target"] for row in kernel["reports"]] == ["cuda:90", "hip:gfx942"]
    assert all(row["registers"] > 0 for row in kernel["reports"])
    assert "scale_rows_kernel" in report and "1 of 1 kernels passed" in report


def test_a_kernel_that_does_not_fit_a_target_fails_the_check(check):
    code, report, found = check(
        """
        x = torch.randn(512, device="cuda").to(torch.float8_e4m3fn)
        scale(512, dtype="float8_e4m3fn")(x)
        """,
        targets=("cuda:90", "cuda:80"),
        compiles=True,
    )
    assert code == 1
    assert found["how"] == "finished"
    assert [row["ok"] for row in found["kernels"][0]["reports"]] == [True, False]
    assert "T2T405" in report


def test_a_refused_kernel_is_named_with_its_place(check):
    code, report, found = check(
        """
        scale(64)(torch.randn(64, device="cuda", dtype=torch.float16))
        wrong(torch.randn(64, device="cuda"))
        """
    )
    assert code == 1
    assert found["how"] == "refused"
    assert [one["name"] for one in found["refusals"]] == ["wrong"]
    assert "T.reduce_sum(x, x, dim=1)" in report
    assert "1 of 2 kernels passed" in report


def test_a_refused_kernel_counts_where_the_script_catches_the_error(check):
    code, _, found = check(
        """
        try:
            wrong(torch.randn(64, device="cuda"))
        except Exception:
            pass
        scale(64)(torch.randn(64, device="cuda", dtype=torch.float16))
        """
    )
    assert (code, found["how"], len(found["refusals"])) == (1, "finished", 1)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("torch.randn(65, device='cuda', dtype=torch.float16)", "must be of shape"),
        ("torch.randn(64, device='cuda')", "must be torch.float16"),
        ("torch.randn(128, device='cuda', dtype=torch.float16)[::2]", "must be contiguous"),
        ("None", "must be a torch.Tensor"),
    ],
)
def test_arguments_are_checked_as_in_a_launch(check, argument, said):
    code, report, found = check(f"scale(64)({argument})\n")
    assert (code, found["how"]) == (1, "exception")
    assert said in report


def test_tensors_on_two_devices_are_refused(check):
    code, report, _ = check("shift(torch.randn(64, device='cuda'), torch.zeros(1).int())\n")
    assert code == 1
    assert "must be on cuda" in report


def test_lengths_and_indices_steer_the_script(check):
    code, _, found = check(
        """
        lengths = torch.tensor([3, 64, 100], device="cuda", dtype=torch.int32)
        starts = torch.nn.functional.pad(torch.cumsum(lengths, 0), (1, 0)).int()
        total = starts[-1].item()
        assert total == 167 and lengths.max().item() == 100
        for start, end in zip(starts[:-1].tolist(), starts[1:].tolist()):
            if end - start > 50:
                scale(end - start)(torch.randn(end - start, device="cuda").half())
        mask = torch.arange(10, device="cuda") > 6
        assert mask.nonzero().shape == (3, 1)
        """
    )
    assert code == 0
    assert [kernel["constants"]["n"] for kernel in found["kernels"]] == ["64", "100"]
    assert found["guesses"] == 0


def test_what_a_kernel_writes_is_not_known(check):
    code, _, found = check(
        """
        x = torch.arange(64, device="cuda", dtype=torch.int32)
        view = x[10:]
        assert view[0].item() == 10
        in_place(x)
        assert view[0].item() == 1, "a guess"
        assert (x - x.clone()).abs().max() < 1e-3
        if (x > 7).any():
            raise SystemExit("a guess is no reason to fail")
        """
    )
    assert code == 0
    assert found["guesses"] == 3


def test_a_mask_that_is_not_known_lets_all_through(check):
    code, _, _ = check(
        """
        y = scale(64)(torch.randn(64, device="cuda", dtype=torch.float16))
        assert y[y > 0].shape == (64,)
        """
    )
    assert code == 0


def test_kernels_in_a_backward_pass_are_found(check):
    code, _, found = check(
        """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return scale(x.numel())(x)

            @staticmethod
            def backward(ctx, grad):
                return scale(grad.numel(), 3.0)(grad.contiguous())

        x = torch.randn(64, device="cuda", dtype=torch.float16, requires_grad=True)
        Scale.apply(x).sum().backward()
        assert x.grad.shape == x.shape and x.grad.is_cuda
        """
    )
    assert code == 0
    assert [kernel["constants"]["factor"] for kernel in found["kernels"]] == ["2.0", "3.0"]


def test_the_gpu_is_that_of_the_first_target(check):
    body = """
        scale(64)
        print(torch.cuda.get_device_capability(), torch.version.hip is not None)
        print(torch.cuda.get_device_properties(0).multi_processor_count)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(); end.record(); torch.cuda.synchronize()
        print(start.elapsed_time(end))
        """
    assert check(body)[2]["output"].split("\n")[-4:-1] == ["(9, 0) False", "132", "1.0"]
    on_hip = check(body, targets=("hip:gfx942",))[2]
    assert on_hip["output"].split("\n")[-4:-1] == ["(9, 4) True", "304", "1.0"]


def test_an_exception_of_the_script_is_its_own(check):
    code, report, found = check("scale(64)\nraise KeyError('mine')\n")
    assert (code, found["how"]) == (1, "exception")
    assert "KeyError: 'mine'" in report
    assert found["where"].endswith("script.py:57")


def test_a_script_without_kernels_does_not_pass(check):
    code, report, _ = check("print('nothing')\n")
    assert code == 1
    assert "no kernel was made" in report


def test_a_script_that_hangs_is_stopped(check):
    code, report, found = check("import time\nscale(64)\ntime.sleep(100)\n", "--timeout", "8")
    assert (code, found["how"]) == (1, "timed out")
    assert "stopped after 8 s" in report
    assert len(found["kernels"]) == 1


def test_a_script_that_ends_its_process_is_no_success(check):
    code, report, _ = check("import os\nscale(64)\nos._exit(0)\n")
    assert code == 1
    assert "ended abruptly (exit 0)" in report


def test_a_missing_package_is_stood_in_for(check):
    code, report, found = check(
        """
        from no_such_package.layers import reference

        x = torch.randn(64, device="cuda", dtype=torch.float16)
        y = scale(64)(x)
        expected = reference(x).float() + 1
        torch.testing.assert_close(y.float(), expected)
        assert (y - expected).abs().max() < 1e-2
        """
    )
    assert code == 0
    assert found["absent"] == ["no_such_package"]
    assert "stand-ins took the place of no_such_package" in report


def test_a_missing_package_is_needed_where_it_says_the_size_of_a_kernel(check):
    body = "import no_such_package\nx = no_such_package.tensor()\nscale(64)(x)\nin_place(x)\n"
    code, report, found = check(body)
    assert (code, found["how"]) == (1, "package")
    assert "needs no_such_package" in report


def test_a_file_of_tests_is_run_by_pytest(check):
    code, _, found = check(
        """
        def test_scale():
            x = torch.randn(64, device="cuda", dtype=torch.float16)
            torch.testing.assert_close(scale(64)(x), x * 2)
        """
    )
    assert (code, found["how"], len(found["kernels"])) == (0, "finished", 1)


def test_tests_behind_one_that_fails_are_checked_too(check):
    code, _, found = check(
        """
        def test_that_fails():
            raise ValueError

        def test_scale():
            scale(64)(torch.randn(64, device="cuda", dtype=torch.float16))
        """
    )
    assert (code, found["how"], len(found["kernels"])) == (1, "exception", 1)


def test_times_are_stand_ins(check):
    code, _, found = check(
        """
        from triton.testing import do_bench
        kernel = scale(64)
        x = torch.randn(64, device="cuda", dtype=torch.float16)
        assert do_bench(lambda: kernel(x)) == 1.0
        """
    )
    assert code == 0
    assert found["kernels"][0]["launches"] == 1


def test_tensors_made_in_a_backward_pass_are_on_the_gpu(check):
    code, _, _ = check(
        """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return scale(x.numel())(x)

            @staticmethod
            def backward(ctx, grad):
                made = torch.zeros(64, device=grad.device, dtype=torch.float16)
                assert made.is_cuda and made.sum().item() == 0
                return scale(64)(made)

        x = torch.randn(64, device="cuda", dtype=torch.float16, requires_grad=True)
        Scale.apply(x).sum().backward()
        (grad,) = torch.autograd.grad(Scale.apply(x).sum(), x)
        assert x.grad.is_cuda and grad.is_cuda
        """
    )
    assert code == 0


def test_lengths_that_a_kernel_reads_stay_known(check):
    code, _, _ = check(
        """
        @tile2triton.kernel
        def from_start(X, Starts, Y, block=64):
            n, m = T.const("n, m")
            X: T.Tensor((n,), "float32")
            Starts: T.Tensor((m,), "int32")
            Y: T.Tensor((n,), "float32")
            with T.Kernel(m - 1, threads=128) as b:
                start = Starts[b]
                for i in T.Parallel(block):
                    if start + i < Starts[b + 1]:
                        Y[start + i] = X[start + i]

        starts = torch.tensor([0, 30, 90], device="cuda", dtype=torch.int32)
        y = torch.zeros(90, device="cuda")
        from_start(torch.randn(90, device="cuda"), starts, y)
        assert starts.tolist() == [0, 30, 90]
        assert y.sum().item() == 1
        """
    )
    assert code == 0


def test_a_missing_package_that_is_done_without_is_stood_in_for_where_that_fails(check):
    code, _, found = check(
        """
        try:
            from no_such_package import reference
        except ImportError:
            print("no reference")

        y = scale(64)(torch.randn(64, device="cuda", dtype=torch.float16))
        a, b, c = reference(y)
        torch.testing.assert_close(y, a)
        """
    )
    assert (code, found["absent"]) == (0, ["no_such_package"])


def test_a_script_that_does_without_a_missing_package_goes_on(check):
    code, _, found = check(
        """
        try:
            import no_such_package
        except ImportError:
            no_such_package = None
        scale(64)
        """
    )
    assert (code, found["absent"], len(found["kernels"])) == (0, [], 1)


def test_tritons_own_kernels_of_a_script_run_nothing(check):
    code, _, _ = check(
        """
        import triton
        import triton.language as tl

        @triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"])
        @triton.jit
        def double(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

        x = torch.arange(64, device="cuda")
        y = torch.empty_like(x)
        double[lambda meta: (triton.cdiv(64, meta["B"]),)](x, y, 64)
        assert x[5].item() == 5 and y[5].item() == 1
        scale(64)
        """
    )
    assert code == 0


TUNED = """
configs = [{"block": "many"}, {"dtype": "float8_e4m3fn"}, {"block": 128}, {"block": 32}]
tuned = tile2triton.autotune(configs=configs, ref_prog=lambda X: X * 2)(scale)
kernel = tuned(300)
assert kernel.config == configs[2]
print(100.0 / kernel.latency, 100.0 / kernel.ref_latency)
y = kernel(torch.randn(300, dtype=torch.float16, device="cuda"))
assert y.shape == (300,)
# One that was tried and left can still be asked for.
scale(300, block=16)(torch.randn(300, dtype=torch.float16, device="cuda"))
"""


def test_first_configuration_that_compiles_stands_for_a_tuned_kernel(check):
    # That chip has no fp8 of this kind.
    code, text, report = check(TUNED, targets=("cuda:80",), compiles=True)
    assert code == 0, text
    assert len(report["kernels"]) == 2


def test_call_of_a_tuned_eager_kernel_is_checked(check):
    body = """
    tuned = tile2triton.autotune(configs=[{"block": 128}, {"block": 32}])(shift)
    x, offsets = torch.randn(300, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
    assert tuned(x, offsets).shape == (300,)
    """
    code, text, report = check(body)
    assert code == 0, text
    (kernel,) = report["kernels"]
    assert kernel["constants"]["block"] == "128"


def test_a_missing_packages_backward_pass_gives_gradients(check):
    code, _, found = check(
        """
        import no_such_package

        x = torch.randn(64, device="cuda", requires_grad=True)
        y = no_such_package.layer(x.half())[0] * 2
        y.grad = None
        y.sum().backward()
        torch.testing.assert_close(y.grad, x)
        assert x.grad.shape == x.shape and x.grad.is_cuda
        scale(64)
        """
    )
    assert code == 0, found["traceback"]


TILELANG = """
import tilelang
import tilelang.language as TL


@tilelang.autotune(configs=[{"block": 3, "kind": "no_such"}, {"block": 64, "kind": "float32"}])
@tilelang.jit(out_idx=[-1])
def add(n, block, kind):
    @TL.prim_func
    def main(A: TL.Tensor((n,), "float32"), B: TL.Tensor((n,), "float32")):
        with TL.Kernel(TL.ceildiv(n, block), threads=128) as b:
            x = TL.alloc_fragment((block,), kind)
            TL.copy(A[b * block], x)
            TL.copy(x, B[b * block])

    return main


kernel = add(100)
print(1e9 / kernel.latency, kernel.config)
profiler = kernel.get_profiler()
profiler.assert_allclose(lambda a: a)
assert profiler.do_bench() == 1.0
assert profiler.do_bench(lambda a: a) == 1.0
"""


def test_of_tuned_kernels_the_first_configuration_that_makes_one_counts(check):
    code, _, found = check(TILELANG)
    assert code == 0, found["traceback"]
    assert [kernel["constants"]["block"] for kernel in found["kernels"]] == ["64"]


def test_a_tuned_kernel_without_a_configuration_is_refused(check):
    code, report, found = check(TILELANG.replace('"kind": "float32"', '"kind": "no_such"'))
    assert (code, found["how"]) == (1, "refused")
    assert "no_such" in report


def test_indices_of_what_is_not_known_are_in_range_and_differ(check):
    code, _, _ = check(
        """
        scores = scale(4096)(torch.randn(4096, device="cuda").half()).view(64, 64)
        indices = scores.topk(4, dim=-1).indices
        assert indices.shape == (64, 4) and indices.is_cuda
        for row in indices.tolist():
            assert len(set(row)) == 4 and 0 <= min(row) <= max(row) < 64
        assert scores.topk(4).values.dtype == torch.float16
        assert indices.flatten().bincount(minlength=64).sum().item() == 256
        """
    )
    assert code == 0


def test_large_masks_that_are_not_known_take_no_memory(check):
    code, _, _ = check(
        """
        scale(64)
        x = torch.randn(1 << 18, 1 << 18, device="cuda")
        mask = torch.isfinite(x)
        assert x[mask].shape == (1 << 36,)
        assert mask.nonzero().shape == (1 << 36, 2)
        torch.testing.assert_close(x[mask], x[mask])
        """
    )
    assert code == 0


def test_views_and_written_sizes_are_no_inputs_of_a_profiler(check):
    code, _, found = check(
        """
        @tile2triton.kernel
        def copied(X, block=64):
            n = T.const("n")
            X: T.Tensor((n, T.ceildiv(n, 8)), "float32")
            Y = T.empty((n, T.ceildiv(n, 8)), "float32")
            with T.Kernel(T.ceildiv(n * T.ceildiv(n, 8), block), threads=128) as b:
                flat = T.Tensor((n * T.ceildiv(n, 8),), "float32", X.data)
                flat_out = T.Tensor((n * T.ceildiv(n, 8),), "float32", Y.data)
                x = T.alloc_fragment((block,), "float32")
                T.copy(flat[b * block], x)
                T.copy(x, flat_out[b * block])
            return Y

        profiler = copied.compile(n=100).get_profiler()
        profiler.assert_allclose(lambda x: x)
        profiler.do_bench()
        """
    )
    assert code == 0, found["traceback"]


def test_gradients_are_close_to_what_a_kernel_gives(check):
    code, _, _ = check(
        """
        x = torch.randn(1 << 17, device="cuda", requires_grad=True)
        (x * 3 + x * x).sum().backward()
        y = scale(1 << 17)(x.detach().half()).float()
        similarity = 2 * (x.grad * y).sum() / (x.grad * x.grad + y * y).sum()
        assert abs(1 - similarity.item()) < 1e-6
        """
    )
    assert code == 0


def test_processes_of_a_script_are_checked_too(check):
    code, report, found = check(
        """
        import multiprocessing, subprocess, sys
        from concurrent.futures import ProcessPoolExecutor


        def work(lengths):
            x = torch.randn(lengths[0].item(), device="cuda", dtype=torch.float16)
            torch.testing.assert_close(scale(len(x))(x), x * 2)


        def fail():
            raise ValueError("it has failed")


        if __name__ == "__main__":
            forking = multiprocessing.get_context("fork")
            given = torch.tensor([100], device="cuda")
            forking.Process(target=work, args=(given,)).start()
            pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
            pool.submit(work, given)
            subprocess.run([sys.executable, "-c", "print('another program')"])
            forking.Process(target=fail, name="the failing one").start()
        """
    )
    (kernel,) = found["kernels"]
    assert (kernel["constants"]["n"], kernel["launches"], kernel["ok"]) == ("100", 2, True)
    assert found["comparisons"] == 2
    assert code == 1 and found["detail"] == "the failing one, which it started, exits with 1"
    assert "ValueError: it has failed" in report
    assert f"not checked: the script starts `{sys.executable} -c print" in report


def test_long_events_of_several_writers_stay_apart():
    reading, writing = os.pipe()
    tell = Teller(writing)
    texts = [character * 100_000 for character in "abc"]

    def write(text):
        for _ in range(3):
            tell({"event": text})

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    closing = threading.Thread(target=lambda: ([one.join() for one in threads], os.close(writing)))
    closing.start()
    events = list(told(reading))
    assert sorted(event["event"] for _, event in events) == sorted(texts * 3)
    assert {process for process, _ in events} == {os.getpid()}
