"""What becomes of hints that are statements of their own: registers, caches, flags of compilers."""

import ast
from collections.abc import Callable, Mapping

from rewrites.facts import Facts, Launch, WrittenHint
from tile2triton.hints.launch_options import MOST_REGISTERS, REGISTERS, set_option
from tile2triton.targets import target

# How it was applied, and what was written or why nothing was.
Settled = tuple[str, str]


def settle_statement(
    hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts
) -> Settled:
    """Apply the hint to its launch."""
    settle = _BY_OPERATOR.get(hint.operator)
    if settle is None:
        return "none", "Triton has nothing like it"
    return settle(hint, launch, kernel, facts)


def _set_registers(
    hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts
) -> Settled:
    """Of all threads, a limit; of a role, a share that roles in one order do not need.

    Roles run one after the other in one group of warps: those that compute have what all have,
    and nothing is taken from those that load.
    """
    if target(facts.target).backend != "cuda":
        return "none", "AMD's chips do not move registers between waves"
    count = int(hint.arguments["reg_count"])
    if hint.arguments["is_of_all"]:
        return set_option(facts, launch, kernel, "maxnreg", min(count, MOST_REGISTERS))
    grows = hint.operator in ("inc_max_nreg", "annotate_consumer_reg_alloc") or (
        hint.operator == "set_max_nreg" and bool(hint.arguments.get("is_inc", 1))
    )
    if not grows:
        return "none", "the roles run in one group of warps, which all keep their registers"
    threads = launch.num_warps * 32
    have = min(MOST_REGISTERS, REGISTERS // threads)
    if have < min(count, MOST_REGISTERS):
        return "none", f"{threads} threads have {have} registers each at most"
    return "native", f"every thread may have {have} registers: roles that load take none away"


def _share_registers(
    hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts
) -> Settled:
    """What warps that load give to those that compute, wherever the hint stands."""
    in_role = WrittenHint(
        hint.operator, hint.construct, hint.line, {**_count(hint), "is_of_all": False}
    )
    return _set_registers(in_role, launch, kernel, facts)


def _count(hint: WrittenHint) -> Mapping[str, int]:
    usual = 24 if hint.operator == "annotate_producer_reg_dealloc" else 240
    return {"reg_count": hint.arguments.get("reg_count", usual)}


def _keep_registers(
    hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts
) -> Settled:
    return "native", "Triton moves no registers between warps here anyway"


def _set_programs(
    hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts
) -> Settled:
    """So many programs fit on a multiprocessor as far as registers go."""
    (programs,) = (int(hint.arguments[key]) for key in hint.arguments if key != "is_of_all")
    goal = target(facts.target)
    if goal.backend == "hip":
        # A compute unit has four execution units.
        waves = min(8, max(1, -(-programs * launch.num_warps // 4)))
        return set_option(facts, launch, kernel, "waves_per_eu", waves)
    count = REGISTERS // (programs * launch.num_warps * 32) // 8 * 8
    if count >= MOST_REGISTERS:
        return "native", f"{programs} programs fit with 255 registers for each thread"
    if count < 24:
        return "none", f"{programs} programs would leave {count} registers for each thread"
    return set_option(facts, launch, kernel, "maxnreg", count)


def _aliases(hint: WrittenHint, launch: Launch, kernel: ast.FunctionDef, facts: Facts) -> Settled:
    return "native", "Triton takes no two tensors for apart"


def _never(reason: str) -> Callable[[WrittenHint, Launch, ast.FunctionDef, Facts], Settled]:
    return lambda hint, launch, kernel, facts: ("none", reason)


_BY_OPERATOR: Mapping[str, Callable[[WrittenHint, Launch, ast.FunctionDef, Facts], Settled]] = {
    "set_max_nreg": _set_registers,
    "inc_max_nreg": _set_registers,
    "dec_max_nreg": _set_registers,
    "annotate_producer_reg_dealloc": _share_registers,
    "annotate_consumer_reg_alloc": _share_registers,
    "no_set_max_nreg": _keep_registers,
    "disable_warp_group_reg_alloc": _keep_registers,
    "annotate_min_blocks_per_sm": _set_programs,
    "annotate_restrict_buffers": _aliases,
    "ClusterKernel": _never(
        "Triton's programs share nothing with neighbours; T.ctas(n) lets n share the work of one"
    ),
    "annotate_l2_hit_ratio": _never(
        "how much of the L2 cache a tensor keeps is set on CUDA's stream, outside of kernels; "
        '`eviction_policy="evict_last"` of its copies is nearest'
    ),
    "annotate_compile_flags": _never("Triton calls ptxas or LLVM by itself, and no C++ compiler"),
    "pdl_sync": _never("a launch starts when the one before is over"),
    "pdl_trigger": _never("the next launch starts when this one is over"),
}
