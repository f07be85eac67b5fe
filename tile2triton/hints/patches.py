"""Which hints become patches of compiled code, by target, and why others do not."""

import ast
from dataclasses import replace

from rewrites.facts import Claim, Facts, HintRequest, Launch
from rewrites.hint_notes import Settled
from tile2triton.hints.anchors import Anchor, anchors_of
from tile2triton.hints.gemm_warps import EXCHANGED, settle_policy
from tile2triton.hints.mfma_shape import settle_size
from tile2triton.hints.sites import OF_PRODUCTS, meant_by
from tile2triton.patch_targets import generation, refusal
from tile2triton.targets import target


def settle_patch(
    request: HintRequest, kernel: ast.FunctionDef, launch: Launch, facts: Facts
) -> Settled:
    """ "patch" where it can be asked for, else "native" or "none"; and why."""
    meant = meant_by(request, request.anchor, anchors_of(kernel))
    found = [one for some in meant.values() for one in some]
    settled = _settled(request, found, kernel, launch, facts)
    if settled.how == "patch" and request.kind not in facts.patch_kinds:
        return Settled(
            "none", f"Triton's language has no word for it, and there is no `{request.kind}` yet"
        )
    return settled


def _settled(
    request: HintRequest,
    found: list[Anchor],
    kernel: ast.FunctionDef,
    launch: Launch,
    facts: Facts,
) -> Settled:
    if not found:
        what = "product" if request.kind in OF_PRODUCTS else "load"
        return Settled("none", f"no {what} of the kernel is a variable named `{request.anchor}`")
    if request.kind == "gemm_warps":
        policy = str(dict(request.arguments)["policy"])
        is_turned = all(one.is_turned for one in found)
        return settle_policy(policy, request.anchor, is_turned, kernel, launch, facts)
    if request.kind == "mfma_shape":
        size = dict(request.arguments)["size"]
        return Settled(*settle_size(size, request.anchor, kernel, launch, facts))
    if request.kind == "async_outside_loop" and any(one.loop for one in found):
        return _asynchronous_in_loop(found, target(facts.target).backend == "cuda")
    goal = target(facts.target)
    reason = refusal(request.kind, goal, dict(request.arguments))
    if reason:
        return Settled("none", reason)
    if request.kind == "shared_layout" and generation(goal) < 9 and not _run_ahead(found):
        said = "its loads do not run ahead in a loop, so that they pass by registers"
        return Settled("none", said)
    is_by_tma = all(one.kind == "descriptor" for one in found)
    if request.kind == "async_outside_loop" and is_by_tma:
        return Settled("native", "TMA copies it")
    return Settled("patch", "")


def of_transposes(request: HintRequest, kernel: ast.FunctionDef) -> HintRequest:
    """The request as it is of what the kernel computes: rows and columns may be exchanged."""
    if request.kind != "gemm_warps":
        return request
    meant = meant_by(request, request.anchor, anchors_of(kernel))
    found = [one for some in meant.values() for one in some]
    if not found or not all(one.is_turned for one in found):
        return request
    policy = str(dict(request.arguments)["policy"])
    return replace(request, arguments=(("policy", EXCHANGED.get(policy, policy)),))


def _run_ahead(found: list[Anchor]) -> bool:
    return all(one.runs_ahead for one in found)


def _asynchronous_in_loop(found: list[Anchor], is_nvidia: bool) -> Settled:
    """A load that a loop lets run ahead, or not."""
    if not _run_ahead(found):
        return Settled(
            "none", "in a loop, copies run ahead under T.Pipelined(…, num_stages=2) or more"
        )
    if is_nvidia:
        said = (
            "its loop has stages, so that Triton copies ahead what it proves to lie in whole words"
        )
        return Settled("native", said, Claim("asynchronous"))
    return Settled(
        "native", "its loop has stages, so that Triton loads it ahead; cp.async is NVIDIA's"
    )
