"""Which hints become patches of compiled code, by target, and why others do not."""

import ast

from rewrites.facts import Facts, HintRequest, Launch
from tile2triton.hints.anchors import Anchor, anchors_of
from tile2triton.hints.gemm_warps import settle_policy
from tile2triton.hints.mfma_shape import settle_size
from tile2triton.hints.sites import OF_PRODUCTS, meant_by
from tile2triton.patch_targets import generation, refusal
from tile2triton.targets import target


def settle_patch(
    request: HintRequest, kernel: ast.FunctionDef, launch: Launch, facts: Facts
) -> tuple[str, str]:
    """ "patch" where it can be asked for, else "native" or "none"; and why."""
    meant = meant_by(request, request.anchor, anchors_of(kernel))
    found = [one for some in meant.values() for one in some]
    how, detail = _settled(request, found, kernel, launch, facts)
    if how == "patch" and request.kind not in facts.patch_kinds:
        return "none", f"Triton's language has no word for it, and there is no `{request.kind}` yet"
    return how, detail


def _settled(
    request: HintRequest,
    found: list[Anchor],
    kernel: ast.FunctionDef,
    launch: Launch,
    facts: Facts,
) -> tuple[str, str]:
    if not found:
        what = "product" if request.kind in OF_PRODUCTS else "load"
        return "none", f"no {what} of the kernel is a variable named `{request.anchor}`"
    if request.kind == "gemm_warps":
        policy = str(dict(request.arguments)["policy"])
        return settle_policy(policy, request.anchor, kernel, launch, facts)
    if request.kind == "mfma_shape":
        return settle_size(dict(request.arguments)["size"], request.anchor, kernel, launch, facts)
    if request.kind == "async_outside_loop" and any(one.loop for one in found):
        return _asynchronous_in_loop(found, target(facts.target).backend == "cuda")
    goal = target(facts.target)
    reason = refusal(request.kind, goal, dict(request.arguments))
    if reason:
        return "none", reason
    if request.kind == "shared_layout" and generation(goal) < 9 and not _run_ahead(found):
        return "none", "its loads do not run ahead in a loop, so that they pass by registers"
    is_by_tma = all(one.kind == "descriptor" for one in found)
    if request.kind == "async_outside_loop" and is_by_tma:
        return "native", "TMA copies it"
    return "patch", ""


def _run_ahead(found: list[Anchor]) -> bool:
    return all(one.runs_ahead for one in found)


def _asynchronous_in_loop(found: list[Anchor], is_nvidia: bool) -> tuple[str, str]:
    """A load that a loop lets run ahead, or not."""
    if not _run_ahead(found):
        return "none", "in a loop, copies run ahead under T.Pipelined(…, num_stages=2) or more"
    if is_nvidia:
        return "native", "its loop has stages, so that Triton copies it ahead"
    return "native", "its loop has stages, so that Triton loads it ahead; cp.async is NVIDIA's"
