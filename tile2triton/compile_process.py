"""The process that compiles kernels, as its caller sees it."""

import dataclasses
from typing import Any

from .compile_job import Job
from .worker_process import WorkerProcess


class CompileProcess(WorkerProcess):
    """Answers jobs one after the other, whatever becomes of the compiler."""

    def __init__(self) -> None:
        super().__init__("tile2triton.compile_worker", "compiling", "the compiler")

    def answer(self, job: Job, seconds: float) -> dict[str, Any]:
        """What the process says about `job`; a crash or a hang is an error like others.

        Where patches may be what the compiler ends at, it is asked once more without such.
        """
        answer = self.ask(dataclasses.asdict(job), seconds)
        if job.is_patched and not job.is_careful and answer.get("ended"):
            return self.answer(dataclasses.replace(job, is_careful=True), seconds)
        return answer
