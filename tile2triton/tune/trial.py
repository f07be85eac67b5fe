"""What is tried: the kernels of all configurations, each once, and what they are measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tile2triton.tune.candidates import Candidate, Refused, candidates
from tile2triton.tune.configs import Config
from tile2triton.tune.expected import Files, Reference
from tile2triton.tune.inputs import Inputs
from tile2triton.tune.machine import Machine
from tile2triton.tune.request import Request


class Trial:
    """`first` has each kernel by its module, `again` what is the same kernel as one of these."""

    def __init__(
        self, request: Request, machine: Machine, folder: Path, passed: Callable[[], object]
    ) -> None:
        """`passed` is called for each configuration that is not tried itself."""
        settings = request.settings
        self.request = request
        self.folder = folder
        self.passed = passed
        self.inputs = Inputs(
            request.call, settings.supply_prog, settings.supply_type, machine.devices[0]
        )
        self.reference = Reference(settings)
        self.refused: dict[int, Exception] = {}
        self.first: dict[Path, Candidate] = {}
        self.again: list[Candidate] = []
        self._by_key: dict[object, Files] = {}
        self._files: dict[int, Files] = {}

    def distinct(
        self, configs: Sequence[Config] | None = None, first: int = 0
    ) -> Iterator[Candidate]:
        """Candidates as they are made; options that change nothing here make no second one.

        They are the request's, or more than these: `first` is the number of the first.
        """
        chosen = self.request.configs if configs is None else configs
        for one in candidates(chosen, self.request.make, first):
            if isinstance(one, Refused):
                self.refused[one.index] = one.error
                self.passed()
            elif one.path in self.first:
                self.again.append(one)
                self.passed()
            else:
                self.first[one.path] = one
                self._files[one.index] = self._made_files(one)
                yield one

    def files_of(self, candidate: Candidate) -> Files:
        """What a candidate is measured on; equal inputs are one file."""
        return self._files[candidate.index]

    def end(self) -> None:
        """Let the measuring processes have the memory of what was made up here."""
        import torch

        self.inputs.forget()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def _made_files(self, candidate: Candidate) -> Files:
        key = self.inputs.key_of(candidate.kernel)
        if key not in self._by_key:
            values = self.inputs.of(candidate.kernel)
            self._by_key[key] = self.reference.files(values, self.folder)
            if self.request.times_reference:
                self.reference.time(values)
        return self._by_key[key]
