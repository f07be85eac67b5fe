"""Trace a T.prim_func and compare what Triton computes with the reference meaning."""

from collections.abc import Sequence

import torch

from tests.three_meanings import Outcome, as_torch, compare
from tile2triton import pipeline, reference, runtime
from tile2triton.emit import emit
from tile2triton.frontend.prim_func import PrimFunc


def agree_traced(
    kernel: PrimFunc,
    arguments: Sequence[torch.Tensor | int | float],
    device: str,
    out_idx: Sequence[int] = (-1,),
    target: str = "cuda:90",
    tolerance: float | None = None,
) -> Outcome:
    """The outputs of both meanings of a kernel in Python's syntax, which must be the same."""
    count = kernel.captured.function.__code__.co_argcount
    outputs = [number % count for number in out_idx]
    program = PrimFunc(kernel.captured.function, None).program(outputs)
    host = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    there = [a.to(device).clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    wanted = reference.run(program, host)
    emitted = emit(pipeline.lower(program, target), program.facts)
    made = runtime.load(emitted, program.facts.name)(*there)
    got = [a.cpu() for a in (made if isinstance(made, list) else (made,))]
    return compare(Outcome([as_torch(a) for a in wanted], got, emitted), tolerance)
