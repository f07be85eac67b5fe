"""Compile what a program becomes, for a target that need not be there, and say what came of it."""

import functools
import re
import zlib

from tests.fuzz.outcome import Outcome, crash, executed
from tile2triton import compile as compile_kernel
from tile2triton.compile_job import jobs
from tile2triton.compile_pool import CompilePool
from tile2triton.diagnostics import TileError
from tile2triton.module_cache import write_module
from tile2triton.targets import target as described_target

# What says that a program asks for more than the device has, which is no mistake.
TOO_MUCH = "T2T405"
FAILS = "T2T404"


class Compiler:
    """Compiles programs in one process of its own, as `outcome` runs them."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.pool = CompilePool(workers=1).__enter__()

    def outcome(self, text: str) -> Outcome:
        """`agree` where every kernel compiles, or is merely too large."""
        try:
            names = executed(text, f"<fuzz {zlib.crc32(text.encode()):08x}>")
            compiled = compile_kernel(names["kernel"], target=self.target)
        except TileError as error:
            codes = ",".join(sorted({item.code for item in error.diagnostics}))
            return Outcome("refused", codes, str(error))
        except Exception as error:
            return crash(error, "transpiling")
        emitted, facts = compiled.emitted_for(self.target)
        path = str(write_module(emitted, "fuzzed"))
        planned = list(jobs(path, facts, described_target(self.target)))
        assert planned, "a program without kernels tells nothing"
        for report in [self.pool.submit(job) for job in planned]:
            problem = report.result().problem
            if problem is not None and problem.code == FAILS:
                said = "\n".join(problem.found)
                return Outcome("crash", reason(said), said, emitted)
            if problem is not None and problem.code == TOO_MUCH:
                return Outcome("refused", TOO_MUCH, problem.message, emitted)
        return Outcome("agree", triton=emitted)


@functools.cache
def compiler(target: str) -> Compiler:
    """The one of this process."""
    return Compiler(target)


def reason(said: str) -> str:
    """What two failures of one kind have in common: the last words, without names and numbers."""
    last = said.strip().splitlines()[-1] if said.strip() else "no words"
    return "compiling: " + re.sub(r"`[^`]*`|\S*\d\S*", "…", last)[:120]
