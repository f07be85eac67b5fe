"""Which matrix instructions Hopper uses: `{"version": 2}` takes mma.sync in the place of wgmma.

Triton chooses by the chip that a module names, for all its products: they must all be named, or the
request is for the kernel as a whole.
"""

from functools import partial

from ...sites import variable_of
from ..anchors import set_module_text
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """While instructions are chosen, the module is for Ampere."""
    if request.arguments.get("version") != 2:
        raise RefusedError("what can be chosen is version 2, mma.sync")
    return (
        Edit("before:add_accelerate_matmul", partial(_name_ampere, request)),
        Edit("after:add_accelerate_matmul", partial(_name_chip, chip)),
    )


def _name_ampere(request: Request, module: Module, site: Site) -> None:
    products = {variable_of(name) for kind, name in site.operations if kind == "dot"}
    if not products:
        raise RefusedError("the kernel has no products")
    if request.anchor:
        site.count("dot", request.anchor)
    others = products - {request.anchor}
    if request.anchor and others:
        raise RefusedError(f"it would change the product `{min(others)}`, too")
    set_module_text(module, "ttg.target", "cuda:80")


def _name_chip(chip: Chip, module: Module, site: Site) -> None:
    set_module_text(module, "ttg.target", f"cuda:{chip.arch}")


MMA_VERSION = Kind(name="mma_version", arguments=("version",), edits=edits)
