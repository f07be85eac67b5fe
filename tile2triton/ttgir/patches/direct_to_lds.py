"""Loads that loops run ahead write to AMD's LDS directly, and take no registers on their way.

Triton has a variable of the environment for that, for all kernels of a process. This is for all
loads of one kernel; the patch may name one of them.
"""

from dataclasses import replace
from functools import partial

from triton._C import libtriton

from ..patching import Chip, Kind, PassEdit, RefusedError, Request, Site, Step, expect

_COALESCE = "add_coalesce_async_copy"


def edits(request: Request, chip: Chip) -> tuple[PassEdit, ...]:
    """The pass that pipelines loops is told so, and one behind it brings the loads in shape."""
    return (PassEdit(partial(_load_directly, request, chip)),)


def _load_directly(request: Request, chip: Chip, steps: list[Step], site: Site) -> list[Step]:
    names = [step.name for step in steps]
    if "add_pipeline" not in names:
        # The first of Triton's two lists only names the layouts.
        return steps
    if request.anchor:
        site.count("load", request.anchor)
    if _COALESCE in names:
        raise RefusedError(f"Triton does so on {chip} by itself")
    expect(names.count("add_pipeline"), 1, "passes that pipeline loops")
    at = names.index("add_pipeline")
    pipeline = replace(steps[at], arguments=(True, *steps[at].arguments[1:]))
    # Looked up here, since a build of Triton for NVIDIA only has no such bindings.
    add = libtriton.amd.passes.ttgpuir.add_coalesce_async_copy
    coalesce = Step(_COALESCE, add, (chip.arch,), {})
    return [*steps[:at], pipeline, coalesce, *steps[at + 1 :]]


DIRECT_TO_LDS = Kind(name="direct_to_lds", arguments=(), edits=edits)
