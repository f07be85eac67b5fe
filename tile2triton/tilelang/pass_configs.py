"""`pass_configs` and `compile_flags`: what TileLang's compiler is told, and what it means."""

from __future__ import annotations

import difflib
import enum
import shlex
from collections.abc import Mapping
from typing import Any

from tile2triton.diagnostics import ArgumentError, Diagnostic


class PassConfigKey(enum.StrEnum):
    """The keys of `pass_configs`, each a text such as "tl.enable_fast_math"."""

    TL_SIMPLIFY = "tl.Simplify"
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = (
        "propagate_knowns_to_simplify_expressions"
    )
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tirx.disable_cse_tir"
    TIR_SIMPLIFY = "tirx.Simplify"
    TIR_DISABLE_STORAGE_REWRITE = "tirx.disable_storage_rewrite"
    TIR_DISABLE_VECTORIZE = "tirx.disable_vectorize"
    TIR_USE_ASYNC_COPY = "tirx.use_async_copy"
    TIR_ENABLE_DEBUG = "tirx.enable_debug"
    TIR_MERGE_STATIC_SMEM = "tirx.merge_static_smem"
    TIR_ADD_LOWER_PASS = "tirx.add_lower_pass"
    TIR_NOALIAS = "tirx.noalias"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"


# All others say how the compiler gets at the same result, what it checks, or what it reports. Those
# that leave out a check of bounds or a barrier speak of programs that need neither.
CHANGES_RESULTS = {
    PassConfigKey.TIR_ADD_LOWER_PASS.value: "adds a pass of one's own to TileLang's compiler",
}
# Rounding is Triton's: these options of nvcc would ask for another.
ROUNDING_FLAGS = ("fmad", "ftz", "prec-div", "prec-sqrt")


def normalize_pass_configs(configs: Mapping[Any, Any] | None) -> dict[str, Any]:
    """The settings by their texts. Raises `ArgumentError` for an unknown or unsupported one."""
    if configs is not None and not isinstance(configs, Mapping):
        raise _wrong(
            f"pass_configs must be a dict, but is `{configs!r}`",
            "write pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True}",
        )
    known = {key.value for key in PassConfigKey}
    found: dict[str, Any] = {}
    for key, value in (configs or {}).items():
        name = str(key.value if isinstance(key, PassConfigKey) else key)
        if name not in known and not name.startswith(("tir.", "tirx.")):
            close = difflib.get_close_matches(name, sorted(known), 1)
            hint = f'did you mean "{close[0]}"?' if close else "see tilelang.PassConfigKey"
            raise _wrong(f"there is no pass config `{name}`", hint)
        if value and name in CHANGES_RESULTS:
            raise _wrong(
                f"the pass config `{name}` {CHANGES_RESULTS[name]}, which does not run here",
                "leave it out",
            )
        found[name] = value
    refuse_rounding(found.get(PassConfigKey.TL_DEVICE_COMPILE_FLAGS.value))
    return found


def refuse_rounding(flags: Any) -> None:
    """Flags of nvcc are accepted, except those by which results would be rounded otherwise."""
    texts = shlex.split(flags) if isinstance(flags, str) else list(flags or ())
    for text in texts:
        name, _, value = str(text).lstrip("-").partition("=")
        if name in ROUNDING_FLAGS and value:
            raise _wrong(
                f"the compile flag `{text}` changes how results are rounded, which Triton decides",
                "leave it out",
            )


def _wrong(message: str, hint: str) -> ArgumentError:
    return ArgumentError(Diagnostic("T2T502", message, hint=hint))
