"""What TileLang's users ask of a compiled kernel besides calling it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from rewrites.facts import Program
from tile2triton.frontend.failures import failure
from tile2triton.tilelang.parameters import KernelParam, output_indices, parameters_of

if TYPE_CHECKING:
    from tile2triton.frontend.prim_func import TracedFunc
    from tile2triton.supply import TensorSupplyType
    from tile2triton.tilelang.profiler import Profiler


class TileLangKernel:
    """TileLang's names of what a compiled kernel knows; `CompiledKernel` has them all."""

    # pytest takes a function named test_…, also one that is a kernel, for a test.
    __test__ = False

    program: Program
    triton_source: str
    # What tuning found, in milliseconds.
    latency: float | None = None
    config: dict[str, Any] | None = None
    ref_latency: float | None = None

    @property
    def params(self) -> list[KernelParam]:
        """Tensors and scalars in the order of the user's parameters, outputs included."""
        return parameters_of(self.program)

    @property
    def out_idx(self) -> list[int]:
        """Which of the parameters are returned."""
        return output_indices(self.program)

    @property
    def kernel_source(self) -> str:
        return self.triton_source

    @property
    def host_source(self) -> str:
        return self.triton_source

    @property
    def artifact(self) -> Self:
        """What `tilelang.lower` returns: it has `kernel_source` and `params`."""
        return self

    @property
    def adapter(self) -> Self:
        return self

    @property
    def torch_function(self) -> Self:
        return self

    @property
    def prim_func(self) -> TracedFunc:
        """The tile program that the kernel was made from."""
        from tile2triton.frontend.prim_func import TracedFunc

        return TracedFunc(self.program)

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The Triton source; kernels and launcher are one module."""
        return self.triton_source

    def get_host_source(self) -> str:
        """The same module: the launcher is a part of it."""
        return self.triton_source

    def show_source(self, which: str = "kernel") -> None:
        """Print the Triton source."""
        print(self.triton_source)

    def print_source_code(self, which: str = "kernel", file: str | None = None) -> None:
        """Print the Triton source, or write it to a file."""
        if file is None:
            self.show_source(which)
        else:
            self.export_sources(file)

    def export_sources(self, kernel_path: str | None = None, host_path: str | None = None) -> None:
        """Write the Triton module to one or two files."""
        if kernel_path is None and host_path is None:
            raise ValueError("give kernel_path, host_path, or both")
        for path in (kernel_path, host_path):
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_text(self.triton_source, encoding="utf-8")

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """What compares and measures the kernel on inputs of a kind."""
        from tile2triton.supply import TensorSupplyType
        from tile2triton.tilelang.profiler import Profiler

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func: Any = None) -> Any:
        """Call the kernel, or `func`, on made-up inputs."""
        return self.get_profiler().run_once(func)

    def update_tuner_result(
        self, latency: float, config: dict[str, Any], ref_latency: float | None
    ) -> Self:
        """Set down what tuning found."""
        self.latency, self.config, self.ref_latency = latency, config, ref_latency
        return self

    def get_tuner_result(self) -> dict[str, Any]:
        """What tuning found; ValueError where the kernel was not tuned."""
        if self.latency is None:
            raise ValueError("the kernel was not tuned")
        return {"latency": self.latency, "config": self.config, "ref_latency": self.ref_latency}

    @property
    def dynamic_symbolic_map(self) -> None:
        """Where run-time sizes are read, which the emitted launcher knows by itself."""
        return None

    def get_exportable_executable(self) -> NoReturn:
        self._refuse("get_exportable_executable", "write kernel.save(path): it needs only Triton")

    def export_library(self, kernel_file: str) -> NoReturn:
        self._refuse("export_library", "write kernel.save(path): the module needs only Triton")

    def show_ptx(self) -> NoReturn:
        self._refuse("show_ptx", "`tile2triton check` says registers, spills and shared memory")

    def show_sass(self) -> NoReturn:
        self._refuse("show_sass", "`tile2triton check` says registers, spills and shared memory")

    def export_ptx(self, path: str) -> NoReturn:
        self._refuse("export_ptx", "write kernel.save(path) for the Triton module")

    def export_sass(self, path: str) -> NoReturn:
        self._refuse("export_sass", "write kernel.save(path) for the Triton module")

    def _refuse(self, name: str, hint: str) -> NoReturn:
        raise failure("T2T505", f"there is no `{name}`: what is made is a Triton module", hint=hint)
