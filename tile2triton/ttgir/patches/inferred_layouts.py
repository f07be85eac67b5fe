"""Layouts of all tiles in shared memory by inference: those with the fewest trips to the banks.

Each buffer's loads and stores are simulated with every layout that the units which use it allow,
as often as its loops run. A buffer keeps Triton's own layout unless that costs a quarter more, and
one that a hint has given it.
"""

from ...layouts.choose import Choice, choose
from ...layouts.errors import LayoutError
from ...layouts.turning import turned
from ...layouts.writing import written
from ..listing import Listing
from ..memory import Buffer, layout_kind
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site

# How much more Triton's own layout must cost, so that a simulation a little off harms nothing.
_WORTH = 1.25


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Where units of their own read shared memory, the layouts are those that they take."""
    target = f"{'cuda' if chip.is_nvidia else 'hip'}:{chip.arch}"

    def run(module: Module, site: Site) -> str:
        return _laid_out(Listing(module), target, site)

    return (Edit("end:make_ttgir", run),)


def _laid_out(listing: Listing, target: str, site: Site) -> str:
    try:
        found = [choice for choice in choose(str(listing), target) if _is_worth_it(choice)]
    except LayoutError as error:
        raise RefusedError(f"its layouts are not known: {error}") from error
    done = [choice for choice in found if _is_laid_out(listing, choice, site)]
    if not done:
        raise RefusedError("no tile has a layout that costs less than Triton's own")
    return str(listing)


def _is_worth_it(choice: Choice) -> bool:
    return choice.before.total >= _WORTH * choice.after.total


def _is_laid_out(listing: Listing, choice: Choice, site: Site) -> bool:
    """Whether the buffer has its better layout now; others are as they were."""
    found = listing.definitions(choice.value, "ttg.local_alloc")
    if len(found) != 1 or _is_hinted(listing, found[0], site):
        return False
    before, defined = list(listing.lines), dict(listing.defined)

    def change(old: str, is_transposed: bool) -> str:
        return written(turned(choice.best) if is_transposed else choice.best)

    try:
        Buffer(listing, change).follow(found[0])
    except (RefusedError, LayoutError):
        # Something uses it that cannot do with another layout.
        listing.lines[:], listing.defined = before, defined
        return False
    return True


def _is_hinted(listing: Listing, index: int, site: Site) -> bool:
    """Whether a hint has laid the buffer out, and no later pass has done so again."""
    return any(
        index in listing.operations(("ttg.local_alloc",), name)
        and layout_kind(listing, index) == kind
        for name, kind in site.laid_out
    )


INFERRED_LAYOUTS = Kind(name="inferred_layouts", arguments=(), edits=edits)
