"""The rewrites in order, and the loop that runs them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from rewrites import (
    apply_schedule,
    check_operators,
    delay_reductions,
    drop_stages,
    erase_protocol,
    finish_products,
    fit_stages,
    guard_fp8_casts,
    hoist_first_values,
    join_branches,
    keep_transposes_apart,
    lower_program,
    narrow_loops,
    open_kernels,
    persist,
    remove_jumps,
    resolve_views,
    rotate,
    separate_accesses,
    sequence_roles,
    share_addresses,
    split_grids,
    split_loops,
    split_masks,
    split_tiles,
    spread_threads,
    stream_k,
    swap_ab,
    tidy_names,
    tile_operands,
    unpack,
)
from rewrites.facts import Facts, Program
from rewrites.quote import copy_tree
from rewrites.shapes import plain_shapes
from rewrites.tree import function_of, is_whole, names_in
from tile2triton.hints.patch_kinds import patch_kinds
from tile2triton.hints.settle import forget, settle
from tile2triton.ops import OPERATORS
from tile2triton.schedule.library import templates
from tile2triton.targets import BY_NAME


@dataclass(frozen=True)
class Pass:
    """A named rewrite: tree and facts in, tree out."""

    name: str
    run: Callable[[ast.Module, Facts], ast.Module]
    doc: str


PIPELINE = tuple(
    Pass(module.__name__.rpartition(".")[2], module.run, module.__doc__ or "")
    for module in (
        tile_operands,
        apply_schedule,
        check_operators,
        split_loops,
        stream_k,
        unpack,
        swap_ab,
        remove_jumps,
        persist,
        split_grids,
        sequence_roles,
        erase_protocol,
        spread_threads,
        join_branches,
        narrow_loops,
        drop_stages,
        split_tiles,
        resolve_views,
        fit_stages,
        split_masks,
        delay_reductions,
        separate_accesses,
        hoist_first_values,
        lower_program,
        open_kernels,
        guard_fp8_casts,
        rotate,
        finish_products,
        keep_transposes_apart,
        share_addresses,
        tidy_names,
    )
)


def lower(program: Program, target: str, after: str | None = None) -> ast.Module:
    """The program's Triton kernels as a tree; with `after`, the tree behind that pass.

    `program` itself stays as it is, except that its facts learn the target, the launches, the
    descriptors and what became of hints. `after="trace"` gives the tile program before the first
    pass. Raises `RewriteError` with every problem that the program has.
    """
    facts = program.facts
    facts.target = target
    facts.shared_memory = BY_NAME[target].shared_memory
    facts.multiprocessors = BY_NAME[target].multiprocessors
    facts.operators = OPERATORS
    facts.descriptors = {}
    facts.program_loops = set()
    facts.uneven_loops = set()
    facts.made_loops = set()
    facts.subtile_stores = 0
    facts.swapped = []
    facts.rotated = []
    facts.unrotated = []
    facts.split = []
    facts.unsplit = []
    facts.transposed_sums = set()
    facts.patch_kinds = patch_kinds()
    forget(facts)
    schedule = facts.schedule
    tree = copy_tree(program.tree)
    if is_whole(function_of(tree)):
        # Their files are read for programs that leave tiles to them only.
        facts.templates = templates(target)
    if after == "trace":
        return tree
    plain_shapes(facts)
    for rewrite in PIPELINE:
        tree = rewrite.run(tree, facts)
        if rewrite.name == after:
            return tree
    if after is not None:
        known = ", ".join(["trace", *(rewrite.name for rewrite in PIPELINE)])
        raise ValueError(f"no pass {after!r}; the passes are {known}")
    settle(tree, facts, schedule)
    assert "T" not in names_in(tree), "an operator is left after the last pass"
    return tree
