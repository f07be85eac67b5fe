"""The hints of T.gemm: how warps share the product out, how operands are packed, on which units."""

import ast
from collections.abc import Iterator

from rewrites.facts import Facts
from rewrites.hint_notes import note, request, with_option
from rewrites.lowering import Lowering
from rewrites.tree import base_name
from tile2triton.layouts.warp_policy import POLICIES
from tile2triton.ops.static import static_value

# An annotation of AMD's matrix instructions for one product, and the patch that it may become.
SIZE, KIND = "matrix_instruction", "mfma_shape"


def note_hints(lowering: Lowering, call: ast.Call, arguments: dict[str, ast.expr]) -> None:
    """Set down what a product asks for, as far as the user wrote it."""
    facts = lowering.facts
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    policy, pack = given.get("policy"), given.get("k_pack")
    if isinstance(policy, ast.Constant):
        construct = with_option(facts, call, "policy")
        if policy.value == "Square":
            note(facts, call, construct, "native", "it is the default")
        elif policy.value in POLICIES:
            anchor, said = base_name(arguments["C"]) or "", (("policy", str(policy.value)),)
            request(facts, call, construct, lowering.block_number, "gemm_warps", anchor, said)
        else:
            note(facts, call, construct, "none", f"it is none of {', '.join(POLICIES)}")
    if isinstance(pack, ast.Constant) and isinstance(pack.value, int):
        construct = with_option(facts, call, "k_pack")
        if pack.value == 1:
            note(facts, call, construct, "native", "it is the default")
        else:
            said_pack = (("kpack", pack.value),)
            request(facts, call, construct, lowering.block_number, "kpack", "", said_pack)
    for construct, key, tree in _annotations(facts, call):
        value = None if tree is None else static_value(tree, facts)
        if key == SIZE and isinstance(value, int):
            anchor, said_size = base_name(arguments["C"]) or "", (("size", value),)
            request(facts, call, construct, lowering.block_number, KIND, anchor, said_size)
        else:
            note(facts, call, construct, "none", "it is a note for TileLang's passes")


def _annotations(facts: Facts, call: ast.Call) -> Iterator[tuple[str, object, ast.expr | None]]:
    """Each of a product's annotations: the call with it alone, its name and its value."""
    for keyword in call.keywords:
        if keyword.arg != "annotations" or ast.unparse(keyword.value) == "None":
            continue
        if not isinstance(keyword.value, ast.Dict):
            yield with_option(facts, call, "annotations"), None, None
            continue
        for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
            alone = ast.keyword("annotations", ast.Dict([key], [value]))
            written = with_option(facts, ast.Call(call.func, call.args, [alone]), "annotations")
            yield written, key.value if isinstance(key, ast.Constant) else None, value
