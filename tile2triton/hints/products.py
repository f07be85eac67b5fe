"""The hints of T.gemm: how warps share the product out, and how operands are packed."""

import ast

from rewrites.hint_notes import note, request, with_option
from rewrites.lowering import Lowering
from rewrites.tree import base_name

POLICIES = ("Square", "FullRow", "FullCol")


def note_hints(lowering: Lowering, call: ast.Call, arguments: dict[str, ast.expr]) -> None:
    """Set down what a product asks for, as far as the user wrote it."""
    facts = lowering.facts
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    policy, pack = given.get("policy"), given.get("k_pack")
    if isinstance(policy, ast.Constant):
        construct = with_option(call, "policy")
        if policy.value == "Square":
            note(facts, call, construct, "native", "it is the default")
        elif policy.value in POLICIES:
            anchor, said = base_name(arguments["C"]) or "", (("policy", str(policy.value)),)
            request(facts, call, construct, lowering.block_number, "gemm_warps", anchor, said)
        else:
            note(facts, call, construct, "none", f"it is none of {', '.join(POLICIES)}")
    if isinstance(pack, ast.Constant) and isinstance(pack.value, int):
        construct = with_option(call, "k_pack")
        if pack.value == 1:
            note(facts, call, construct, "native", "it is the default")
        else:
            said_pack = (("kpack", pack.value),)
            request(facts, call, construct, lowering.block_number, "kpack", "", said_pack)
    if "annotations" in given:
        reason = "they are notes for TileLang's passes"
        note(facts, call, with_option(call, "annotations"), "none", reason)
