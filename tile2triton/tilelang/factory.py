"""What TileLang's users ask of a function under `@tilelang.jit` besides calling it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tile2triton.diagnostics import TileError

if TYPE_CHECKING:
    from tile2triton.frontend.compiled import CompiledKernel


class TileLangFactory:
    """Several kernels of one function."""

    # pytest takes a function named test_…, also one that is a kernel, for a test.
    __test__ = False

    def compile(self, *arguments: Any, **keywords: Any) -> CompiledKernel:
        raise AssertionError("kernels of both styles say how they are compiled")

    def par_compile(
        self,
        configs: Iterable[dict[str, Any] | tuple[Any, ...]],
        num_workers: int | None = None,
        ignore_error: bool = False,
    ) -> list[CompiledKernel | None]:
        """The kernel for each set of arguments; with `ignore_error`, None for one that is wrong.

        They are made one after the other: transpiling takes milliseconds, and Triton compiles at
        the first launch.
        """
        kernels: list[CompiledKernel | None] = []
        for config in configs:
            try:
                kernels.append(
                    self.compile(**config) if isinstance(config, dict) else self.compile(*config)
                )
            except TileError:
                if not ignore_error:
                    raise
                kernels.append(None)
        return kernels
