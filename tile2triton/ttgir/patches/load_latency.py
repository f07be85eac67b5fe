"""How far ahead of its use one load of a loop runs, where Triton takes one number for them all.

`{"stages": 4}` gives the load the buffers of a loop with `num_stages=4`; `{"async": False}` leaves
it where it is used, so that it is no asynchronous copy.
"""

from ..anchors import in_loops, named, set_integer
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect

MOST_STAGES = 16


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Triton says of every load that it copies ahead how far; of this one, it is said anew."""
    stages = request.arguments.get("stages", 1)
    if not 1 <= stages <= MOST_STAGES:
        raise RefusedError(f"a load has 1 to {MOST_STAGES} stages, found {stages}")
    if request.arguments.get("async", stages > 1) != (stages > 1):
        raise RefusedError("a load with one stage is not asynchronous, others are")

    def run(module: Module, site: Site) -> None:
        site.count("load", request.anchor)
        loads = named(module, "load", request.anchor)
        found = in_loops(module, loads)
        expect(len(found), len(loads), f"loads of `{request.anchor}` in a loop")
        for load in found:
            set_integer(module, load, "tt.latency", stages - 1)

    return (Edit("after:add_assign_latencies", run),)


LOAD_LATENCY = Kind(name="load_latency", arguments=("stages", "async"), edits=edits)
