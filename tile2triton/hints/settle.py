"""Settle the hints that are of whole kernels or of patches, once the kernels are lowered."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from rewrites.descriptors import has_tma
from rewrites.facts import (
    GLUON_TARGETS,
    Facts,
    HintOutcome,
    HintRequest,
    Launch,
    Patch,
    is_specialized,
)
from rewrites.hint_notes import note, outcome
from rewrites.schedule import Schedule
from rewrites.tree import kernels_of
from tile2triton.hints.anchors import anchors_of
from tile2triton.hints.idle_loops import places_in, refuse_idle
from tile2triton.hints.inferred_layouts import inferred_layouts
from tile2triton.hints.kernel_patches import KERNEL_PATCHES, ask_for
from tile2triton.hints.launch_options import OPTIONS, set_option
from tile2triton.hints.layouts import layout_requests
from tile2triton.hints.loops import loop_requests
from tile2triton.hints.pass_configs import settle_annotation, settle_option
from tile2triton.hints.patches import of_transposes, settle_patch
from tile2triton.hints.sites import asked_of
from tile2triton.hints.statements import settle_statement
from tile2triton.hints.turned_operands import turned_operands

# What annotations are called whose launch option has another name.
_ANNOTATIONS = {
    "maxnreg": "registers",
    "num_ctas": "ctas",
    "matrix_instr_nonkdim": "matrix_instruction",
}
# What other passes make of the rest of a schedule, or refuse.
_FOLLOWED = {
    "tiles": "the size of a tile",
    "splits": "a loop that is shared out to several programs",
    "threads": "`num_warps` at the launch",
    "num_stages": "`num_stages` of the loops, as far as there are any",
    "width": "elements of each thread, where the program has no products",
    "swizzle": "`tl.swizzle2d` on the program ids",
    "stream": "as many turns of loops for each program",
    "programs": "a loop over tiles in each program",
    "recompute": "products are made anew for each tile that needs them",
}
_LOOPS = ("Pipelined", "Parallel", "serial", "unroll")


def forget(facts: Facts) -> None:
    """Forget what another lowering of the program found."""
    facts.patches = []
    facts.hint_report = []
    facts.hint_requests = []


def settle(tree: ast.Module, facts: Facts, schedule: Schedule) -> None:
    """Fill `facts.patches`, the launches' options and `facts.hint_report`."""
    kernels = kernels_of(tree)
    _set_schedule(kernels, facts, schedule)
    for kernel in kernels:
        settle_option(kernel, facts)
    for hint in facts.written_hints:
        blocks = [at for at, one in enumerate(kernels) if one.lineno == hint.kernel_line]
        if hint.operator == "annotate_pass_configs":
            # It is of the whole program, wherever it stands.
            settle_annotation(hint, kernels, facts)
        elif not blocks:
            reason = "its kernel launches nothing"
            outcome(facts, hint.construct, hint.line, hint.filename, "none", reason)
        elif hint.operator == "annotate_layout":
            facts.hint_requests += layout_requests(hint, blocks, kernels, facts)
        elif hint.operator in _LOOPS:
            facts.hint_requests += loop_requests(hint, blocks, kernels, facts)
        else:
            for at in blocks:
                how, detail = settle_statement(hint, facts.launches[at], kernels[at], facts)
                outcome(facts, hint.construct, hint.line, hint.filename, how, detail)
    for request in facts.hint_requests:
        _settle_request(request, kernels[request.block], facts.launches[request.block], facts)
    for kernel, launch in zip(kernels, facts.launches, strict=True):
        asked = {one.kind for one in facts.patches if one.kernel == kernel.name}
        # Without wgmma, nothing is turned round.
        if "mma_version" not in asked:
            facts.patches += turned_operands(kernel, launch.num_warps, facts)
        facts.patches += inferred_layouts(kernel, facts)
    refuse_idle(kernels, facts)
    facts.hint_report = [
        replace(one, kernels=_kernels_with(one, kernels, facts)) for one in facts.hint_report
    ]
    facts.hint_report.sort(key=lambda one: (one.filename, one.line))


def _kernels_with(
    hint: HintOutcome, kernels: list[ast.FunctionDef], facts: Facts
) -> tuple[str, ...]:
    """The kernels that the user wrote a hint in; all where none has anything of its line."""
    place = hint.line, hint.filename
    starts = {one.kernel_line for one in facts.written_hints if (one.line, one.filename) == place}
    found = tuple(
        one.name for one in kernels if one.lineno in starts or place in set(places_in(one, facts))
    )
    return found or tuple(one.name for one in kernels)


def _set_schedule(kernels: list[ast.FunctionDef], facts: Facts, schedule: Schedule) -> None:
    """Options of the launches, and what other passes have made of the rest of the schedule."""
    for name, value in schedule.options.items():
        node = schedule.node(f"options.{name}", ast.Pass())
        is_flag = name in KERNEL_PATCHES and not KERNEL_PATCHES[name].argument
        construct = f"T.{_ANNOTATIONS.get(name, name)}({'' if is_flag else value})"
        for kernel, launch in zip(kernels, facts.launches, strict=True):
            if name in KERNEL_PATCHES:
                how, detail = ask_for(facts, kernel, name, value, node, construct)
            else:
                how, detail = set_option(facts, launch, kernel, name, value)
            note(facts, node, construct, how, detail)
    for key, node in schedule.nodes.items():
        field, _, part = key.partition(".")
        if field == "subtiles":
            how, detail = _subtiles(facts)
            note(facts, node, f"T.subtile({schedule.subtiles})", how, detail)
        elif field == "swap_ab":
            how, detail = _swap_ab(facts)
            note(facts, node, "T.swap_ab()", how, detail)
        elif field == "rotate":
            how, detail = _rotate(facts)
            note(facts, node, "T.rotate()", how, detail)
        elif field == "consumers" and facts.target not in GLUON_TARGETS:
            construct = f"T.warp_specialize({schedule.consumers})"
            detail = "Gluon's kernels here are of Hopper's wgmma, or of mfma"
            note(facts, node, construct, "none", detail)
        elif field == "splits":
            axis = f'"{part}", ' if part else ""
            construct = f"T.split({axis}{schedule.splits[part]})"
            note(facts, node, construct, "native", _FOLLOWED[field])
        elif field == "stream":
            construct = f"T.stream_k({schedule.stream or ''})"
            note(facts, node, construct, "native", _FOLLOWED[field])
        elif field == "split_masks":
            if schedule.split_masks:
                how, detail = _split_masks(facts)
                note(facts, node, "T.split_masks()", how, detail)
            else:
                note(facts, node, "T.split_masks(False)", "native", "loops with masks stay whole")
        elif field in _FOLLOWED:
            said = getattr(schedule, field)
            value = said[part] if part else said
            note(
                facts, node, f"{part or field}={value} of the schedule", "native", _FOLLOWED[field]
            )


def _subtiles(facts: Facts) -> tuple[str, str]:
    """What became of parts in which tiles are to be stored."""
    if facts.subtile_stores:
        return "native", "`tl.split` of what a TMA descriptor stores"
    if not has_tma(facts.target):
        return "none", "tiles in registers are stored from there: only TMA needs shared memory"
    return "none", "no whole tile of two dimensions is stored by a TMA descriptor"


def _swap_ab(facts: Facts) -> tuple[str, str]:
    """What became of products whose transposes are to be computed."""
    if facts.swapped:
        return "native", f"`{'`, `'.join(facts.swapped)}` by transposes"
    if facts.target != "cuda:90":
        return "none", "only wgmma reads the first factor, and no other, from registers"
    return "none", "no product has a loaded first factor and a computed second one"


def note_specialized(
    facts: Facts, schedule: Schedule, stages: Mapping[str, str], reasons: dict[str, str]
) -> None:
    """What became of a producer and its consumers, which kernels are given last.

    `stages` say how far tiles come ahead in each kernel in Gluon, as it is written there.
    """
    kernels = list(stages)
    facts.hint_report = [
        _in_gluon(one, stages[one.kernels[0]])
        if one.kernels and set(one.kernels) <= set(kernels)
        else one
        for one in facts.hint_report
    ]
    node = schedule.nodes.get("consumers")
    if node is None:
        return
    said = [f"`{kernel}`: {reason}" for kernel, reason in reasons.items()]
    if kernels:
        named = f"`{'`, `'.join(kernels)}` in Gluon"
        said.insert(0, f"{named}: {_roles(facts, schedule.consumers or 0)}")
    construct = f"T.warp_specialize({schedule.consumers})"
    note(facts, node, construct, "native" if kernels else "none", "; ".join(said))


def _in_gluon(one: HintOutcome, stages: str) -> HintOutcome:
    """A hint of a kernel in Gluon, which writes itself what Triton would do."""
    if one.how == "patch":
        return replace(
            one, how="none", detail="consumers in Gluon have layouts and rings of their own"
        )
    if one.how == "native" and one.detail.startswith("`tl.range("):
        return replace(one, detail=f"tiles come ahead of its turns: `{stages}`")
    said = one.detail.removeprefix("Triton gives its ").removesuffix(" by itself")
    if one.how == "native" and said != one.detail:
        return replace(one, detail=f"the layout of the product gives the {said}")
    return one


def _roles(facts: Facts, consumers: int) -> str:
    """What the warps of a kernel in Gluon are."""
    if facts.target == "cuda:90":
        return f"a producer and {consumers} consumer{'' if consumers == 1 else 's'}"
    if consumers > 1:
        return "copies ahead, and two groups of warps one stage apart (Triton 3.6 has no stages)"
    return "copies ahead"


def _rotate(facts: Facts) -> tuple[str, str]:
    """What became of loops that are to be rotated."""
    if is_specialized(facts) and facts.target != "cuda:90":
        return "none", "in Gluon for AMD, other warps multiply while some compute a softmax"
    if is_specialized(facts):
        return "native", "the loops of consumers end each turn in the next one"
    if facts.rotated:
        loops = ", ".join(f"`{one}`" for one in dict.fromkeys(facts.rotated))
        return "native", f"the loop over {loops} ends each turn in the next one"
    return "none", "; ".join(facts.unrotated) or "no loop has products"


def _split_masks(facts: Facts) -> tuple[str, str]:
    """What became of loops that are to be split by their masks."""
    if facts.split:
        loops = ", ".join(f"`{one}`" for one in dict.fromkeys(facts.split))
        return "native", f"turns of the loop over {loops} in which masks hide nothing have none"
    if facts.stored:
        return "none", "a program on whole operands has loops without masks from the start"
    return "none", "; ".join(facts.unsplit) or "no loop has a mask that some turns could go without"


def _settle_request(
    request: HintRequest, kernel: ast.FunctionDef, launch: Launch, facts: Facts
) -> None:
    """A launch option, or a patch for a variable that holds what the patch is for."""
    if request.kind in OPTIONS:
        (value,) = (value for _, value in request.arguments if isinstance(value, int))
        how, detail = set_option(facts, launch, kernel, request.kind, value)
        claim = None
    else:
        request = of_transposes(request, kernel)
        how, detail, claim = settle_patch(request, kernel, launch, facts)
        if how == "patch":
            detail = _ask_for(request, kernel, facts)
    outcome(
        facts, request.construct, request.line, request.filename, how, detail, claim, request.names
    )


def _ask_for(request: HintRequest, kernel: ast.FunctionDef, facts: Facts) -> str:
    """Ask for the patch of each load or product that is meant; the words for it."""
    names: list[str] = []
    for anchor, arguments in asked_of(request, anchors_of(kernel)):
        made = Patch(
            kind=request.kind,
            anchor=anchor,
            kernel=kernel.name,
            construct=request.construct,
            line=request.line,
            arguments=arguments,
            filename=request.filename,
        )
        names.append(f"`{anchor}`")
        if made not in facts.patches:
            facts.patches.append(made)
    said = ", ".join(f"{key}={value!r}" for key, value in arguments)
    return f"`{request.kind}` of {' and '.join(names)}" + (f": {said}" if said else "")
