"""The hints of loops: how far the statements of T.Pipelined run ahead, and in which order."""

import ast
from collections.abc import Sequence

from rewrites.facts import Facts, HintRequest, WrittenHint
from rewrites.hint_notes import outcome
from rewrites.nodes import Blank, Comment
from rewrites.tree import base_name, walk

_COPIES = ("copy", "async_copy", "tma_copy", "im2col", "c2d_im2col")
_PRODUCTS = ("gemm", "wgmma_gemm", "tcgen05_gemm")
_REASONS = {
    "sync": "Triton places the waits of a loop itself",
    "group": "Triton closes a group of copies with each turn of a loop",
    "coalesced_width": "how much a thread moves at once in element-wise code is Triton's to choose",
    "loop_layout": "which thread computes which element is Triton's to choose",
    "prefer_async": "loads of element-wise code run ahead under T.Pipelined only",
    "annotations": "they are notes for TileLang's passes",
    "prelude": "it is code for another compiler",
}


def stages_of(stage: object) -> int:
    """The `num_stages` of Triton's that stages of single statements come to; 0 if they say none."""
    if not isinstance(stage, (list, tuple)) or not stage:
        return 0
    if not all(isinstance(one, int) for one in stage):
        return 0
    return int(max(stage) - min(stage)) + 1


def loop_requests(
    hint: WrittenHint, blocks: list[int], kernels: list[ast.FunctionDef], facts: Facts
) -> list[HintRequest]:
    """Requests of patches; what needs none, or cannot be, is set down."""
    option = str(hint.arguments["option"])
    if hint.operator != "Pipelined" or option not in ("stage", "order"):
        reason = _REASONS.get(option, "Triton has nothing like it")
        outcome(facts, hint.construct, hint.line, hint.filename, "none", reason)
        return []
    body = _scheduled(hint.arguments["body"])
    if "stage" not in hint.arguments or "order" not in hint.arguments:
        reason = "a schedule needs both, `order` and `stage`"
        outcome(facts, hint.construct, hint.line, hint.filename, "none", reason)
        return []
    stages = _numbers(hint.arguments["stage"], len(body))
    orders = _numbers(hint.arguments["order"], len(body))
    if stages is None or orders is None:
        reason = f"{len(body)} statements of the loop take {len(body)} whole numbers each"
        outcome(facts, hint.construct, hint.line, hint.filename, "none", reason)
        return []
    moves = {name: at for at, one in enumerate(body) if (name := _written(one, _COPIES))}
    products = {name: at for at, one in enumerate(body) if (name := _written(one, _PRODUCTS))}
    if not products or not moves:
        reason = "Triton lets loads of products run ahead, and the loop lacks one of them"
        outcome(facts, hint.construct, hint.line, hint.filename, "none", reason)
        return []
    last = max(stages)
    is_last = all(stages[at] == last for at in products.values())
    first_product = min(orders[at] for at in products.values())
    # Triton begins a turn with the products, and goes on with the loads of later turns.
    is_usual = all(orders[at] > first_product or stages[at] == last for at in moves.values())
    if is_last and is_usual:
        early = {name: last - stages[at] + 1 for name, at in moves.items()}
        kernel_of = {block: kernels[block] for block in blocks}
        asked = [_early(hint, block, kernel, early, facts) for block, kernel in kernel_of.items()]
        return [one for some in asked for one in some]
    named = {**moves, **products}
    said_stages = tuple(x for name, at in named.items() for x in (name, stages[at] - min(stages)))
    said_orders = tuple(x for name, at in named.items() for x in (name, orders[at]))
    arguments = (("stages", said_stages), ("orders", said_orders))
    anchor = next(iter(moves))
    return [_request(hint, block, "pipeline_schedule", anchor, arguments) for block in blocks]


def _early(
    hint: WrittenHint, block: int, kernel: ast.FunctionDef, early: dict[str, int], facts: Facts
) -> list[HintRequest]:
    """Loads by their stages, beside what the emitted loops say, which may be another number."""
    depths = _depths(kernel, hint)
    depth, said = min(depths, default=1), f"`num_stages={min(depths, default=1)}` of the loop"
    how, detail = "native", said
    if not depths:
        how, detail = "none", "the loop makes no turn"
    elif len(depths) > 1:
        how, detail = "none", f"parts of the loop have {' and '.join(map(str, depths))} stages"
    elif max(early.values()) > depth:
        how, detail = "none", f"{said} are fewer" if depth > 1 else "the loop has one stage"
    elif set(early.values()) != {depth}:
        return [
            _request(hint, block, "load_latency", name, (("stages", stage),))
            for name, stage in early.items()
            if stage != depth
        ]
    outcome(facts, hint.construct, hint.line, hint.filename, how, detail)
    return []


def _depths(kernel: ast.FunctionDef, hint: WrittenHint) -> list[int]:
    """The `num_stages` of the loops that a kernel has of the hint's, without doubles."""
    found: set[int] = set()
    for loop in walk(kernel):
        here = (loop.__dict__.get("lineno"), loop.__dict__.get("filename", hint.filename))
        if isinstance(loop, ast.For) and here == (hint.line, hint.filename):
            assert isinstance(loop.iter, ast.Call)
            said = {one.arg: one.value for one in loop.iter.keywords}.get("num_stages")
            depth = said.value if isinstance(said, ast.Constant) else 1
            found.add(depth if isinstance(depth, int) else 1)
    return sorted(found)


def _request(
    hint: WrittenHint,
    block: int,
    kind: str,
    anchor: str,
    arguments: tuple[tuple[str, int | tuple[int | str, ...]], ...],
) -> HintRequest:
    return HintRequest(kind, hint.construct, hint.line, block, anchor, arguments, hint.filename)


def _scheduled(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that stages and orders are of."""
    return [
        one
        for one in body
        if not isinstance(one, (Comment, Blank))
        and not (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name))
    ]


def _numbers(given: object, count: int) -> list[int] | None:
    """A whole number for each statement; None where it is not that."""
    if not isinstance(given, (list, tuple)) or len(given) != count:
        return None
    return [int(one) for one in given] if all(isinstance(one, int) for one in given) else None


def _written(statement: ast.stmt, operators: tuple[str, ...]) -> str:
    """The buffer that one of these operators writes in a statement, or nothing."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function), args=args)) if (
            function in operators
        ):
            at = 2 if function in _PRODUCTS else 1
            return base_name(args[at]) or ""
    return ""
