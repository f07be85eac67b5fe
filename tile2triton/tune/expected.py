"""What the measuring processes read: inputs as files, and what the reference makes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tile2triton.measure import do_bench
from tile2triton.tune.compare import Tolerance, as_list, tensor_difference
from tile2triton.tune.settings import Settings

_EXACT = Tolerance(0.0, 0.0, 0.0)


@dataclass(eq=False)
class Files:
    """Inputs, what is expected of them, and what an argument is like for a compiler.

    `expected` is empty where nothing is compared.
    """

    inputs: str
    settings: Settings
    outline: tuple[Any, ...]
    expected: str = ""

    def verdict(self, outputs: str) -> str:
        """What the user's own check says to the outputs in a file; empty if it agrees."""
        import torch

        check = self.settings.manual_check_prog
        assert check is not None, "outputs are kept for the user's own check only"
        found = torch.load(outputs)
        wanted = torch.load(self.expected)["outputs"]
        try:
            check(found, wanted)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""


class Reference:
    """Runs the user's reference once for each set of inputs, and times it once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.latency: float | None = None

    def files(self, inputs: Sequence[Any], folder: Path) -> Files:
        """The inputs as a file, beside what is expected of them."""
        import torch

        folder = Path(tempfile.mkdtemp(dir=folder))
        files = Files(str(folder / "inputs"), self.settings, tuple(map(outline, inputs)))
        torch.save(list(inputs), files.inputs)
        if not self.settings.checks:
            return files
        own = clones(inputs)
        outputs = as_list(self._run(own))
        files.expected = str(folder / "expected")
        torch.save({"outputs": outputs, "changed": _changed(inputs, own)}, files.expected)
        return files

    def time(self, inputs: Sequence[Any]) -> None:
        """Time the reference where there is one and it has not been timed."""
        if self.settings.ref_prog is None or self.latency is not None:
            return
        own = clones(inputs)
        latency = do_bench(
            lambda: self._run(own),
            _n_warmup=self.settings.warmup,
            _n_repeat=self.settings.rep,
            return_mode="median",
        )
        assert isinstance(latency, float), "one number is asked for"
        self.latency = latency

    def _run(self, inputs: Sequence[Any]) -> Any:
        assert self.settings.ref_prog is not None, "there is a reference"
        return self.settings.ref_prog(*inputs)


def outline(value: Any) -> Any:
    """A number as it is; of a tensor, its shape, strides and type, as JSON can say them."""
    if not hasattr(value, "stride"):
        return value
    return {
        "shape": list(value.shape),
        "stride": list(value.stride()),
        "dtype": str(value.dtype).removeprefix("torch."),
    }


def clones(values: Sequence[Any]) -> list[Any]:
    """The same numbers in tensors of their own."""
    return [value.clone() if hasattr(value, "clone") else value for value in values]


def _changed(before: Sequence[Any], after: Sequence[Any]) -> dict[int, Any]:
    """The tensors that the reference changed in place, by their number."""
    return {
        index: new
        for index, (old, new) in enumerate(zip(before, after, strict=True))
        if hasattr(new, "clone") and tensor_difference(new, old, _EXACT)
    }
