"""How many lines a user writes: the tile program against the same algorithm in Triton by hand.

Counted is what has to be written for this kernel, as `ruff format` lays it out: decorators,
signatures and bodies of the kernel, of its helpers and, for Triton, of its launcher. Not counted
are blank lines, comments, docstrings, imports and lists of configurations.

    python -m benchmarks.count_lines
"""

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TILES = ROOT / "tests" / "kernels"
TRITON = ROOT / "benchmarks" / "handwritten"
LAYOUT_TOKENS = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Pair:
    """The functions of one algorithm in a tile program's file and in a hand-written one."""

    name: str
    tile_file: str
    tile_functions: tuple[str, ...]
    hand_file: str
    hand_functions: tuple[str, ...]
    limit: float | None = None


def with_values(
    name: str,
    file: str,
    functions: tuple[str, ...],
    hand_file: str,
    hand_functions: tuple[str, ...],
) -> tuple[Pair, Pair]:
    """An algorithm in TileLang's language, and with tiles as values."""
    return (
        Pair(name, file, functions, hand_file, hand_functions),
        Pair(f"{name}, values", f"values/{file}", functions, hand_file, hand_functions, 0.60),
    )


LATENT = ("part_kernel", "gqa_decode.whole_kernel", "mla_decode")
FULL_SUM = ("parts_kernel", "whole_kernel", "full_sum")
TOP_K = ("loaded_keys", "store_keys", "turns_kernel", "launched")
PAIRS = (
    Pair(
        "GEMM",
        "gemm",
        ("gemm",),
        "gemm",
        ("tile_of", "tma_kernel", "gemm_tma"),
        limit=0.60,
    ),
    Pair(
        "attention",
        "flash_attention",
        ("flash_attention",),
        "attention",
        ("attend", "attention_kernel", "launch", "attention_tma"),
        limit=0.60,
    ),
    Pair(
        "GEMM, whole operands",
        "whole_operands",
        ("gemm",),
        "gemm",
        ("tile_of", "tma_kernel", "gemm_tma"),
        limit=0.40,
    ),
    Pair(
        "attention, whole operands",
        "whole_operands",
        ("attention",),
        "attention",
        ("attend", "attention_kernel", "launch", "attention_tma"),
        limit=0.40,
    ),
    Pair(
        "softmax, whole operands",
        "whole_operands",
        ("softmax",),
        "rows",
        ("softmax_kernel", "softmax"),
        limit=0.40,
    ),
    # By hand, an epilogue comes on top of these lines.
    Pair(
        "GEMM + bias + GELU, whole",
        "gemm_programs",
        ("linear_gelu",),
        "gemm",
        ("tile_of", "tma_kernel", "gemm_tma"),
        limit=0.40,
    ),
    Pair(
        "RMS norm + residual, whole",
        "row_programs",
        ("rms_norm_residual",),
        "rows",
        ("rms_norm_kernel", "rms_norm"),
        limit=0.40,
    ),
    Pair(
        "layer norm, whole operands",
        "row_programs",
        ("layer_norm",),
        "rows",
        ("layer_norm_kernel", "layer_norm"),
        limit=0.40,
    ),
    Pair(
        "selective scan, whole",
        "scan_programs",
        ("selective_scan",),
        "selective_scan",
        ("opened", "combined", "associative_kernel", "launched"),
        limit=0.40,
    ),
    Pair("softmax", "softmax", ("softmax",), "rows", ("softmax_kernel", "softmax")),
    Pair("RMS norm", "norm", ("rms_norm",), "rows", ("rms_norm_kernel", "rms_norm")),
    Pair("layer norm", "norm", ("layer_norm",), "rows", ("layer_norm_kernel", "layer_norm")),
    Pair(
        "bias + GELU",
        "elementwise",
        ("gelu", "bias_gelu"),
        "elementwise",
        ("bias_gelu_kernel", "bias_gelu"),
    ),
    Pair(
        "split-K GEMM",
        "split_k_gemm",
        ("split_k_gemm",),
        "split_k_gemm",
        ("split_k_kernel", "split_k_gemm"),
        limit=0.60,
    ),
    Pair(
        "linear attention",
        "linear_attention",
        ("linear_attention",),
        "linear_attention",
        ("linear_attention_kernel", "linear_attention"),
        limit=0.60,
    ),
    *with_values(
        "retention", "retention", ("retention",), "retention", ("retention_kernel", "retention")
    ),
    *with_values(
        "gated delta rule",
        "gated_delta_rule",
        ("gated_delta_rule",),
        "gated_delta_rule",
        ("solve_kernel", "scan_kernel", "gated_delta_rule"),
    ),
    Pair(
        "attention, shared keys",
        "gqa_attention",
        ("gqa_attention",),
        "attention",
        ("attend", "attention_kernel", "launch", "attention_tma"),
    ),
    *with_values(
        "attention backward",
        "attention_backward",
        ("attention_backward",),
        "attention_backward",
        ("delta_kernel", "key_kernel", "query_kernel", "attention_backward"),
    ),
    Pair(
        "decode",
        "gqa_decode",
        ("gqa_decode",),
        "gqa_decode",
        ("part_kernel", "whole_kernel", "gqa_decode"),
    ),
    Pair(
        "decode, split by the schedule",
        "decode_attention",
        ("decode_attention",),
        "gqa_decode",
        ("part_kernel", "whole_kernel", "gqa_decode"),
        limit=0.60,
    ),
    Pair(
        "latent decode",
        "mla_decode",
        ("mla_decode",),
        "mla_decode",
        LATENT,
    ),
    *with_values(
        "latent decode, split by the schedule",
        "latent_attention",
        ("latent_attention",),
        "mla_decode",
        LATENT,
    ),
    *with_values(
        "chunk scan", "chunk_scan", ("chunk_scan",), "mamba2", ("scan_kernel", "chunk_scan")
    ),
    *with_values(
        "chunk state", "chunk_state", ("chunk_state",), "mamba2", ("state_kernel", "chunk_state")
    ),
    Pair(
        "int4 GEMM",
        "dequantized_gemm",
        ("dequantized_gemm",),
        "dequantized_gemm",
        ("dequantized_kernel", "dequantized_gemm"),
        limit=0.60,
    ),
    *with_values(
        "fp8 GEMM, block scales",
        "block_scaled_gemm",
        ("block_scaled_gemm",),
        "block_scaled_gemm",
        ("block_scaled_kernel", "block_scaled_gemm"),
    ),
    Pair(
        "RMS norm, whole operands",
        "row_programs",
        ("rms_norm",),
        "rows",
        ("rms_norm_kernel", "rms_norm"),
        limit=0.40,
    ),
    Pair(
        "bias + GELU, whole operands",
        "row_programs",
        ("bias_gelu",),
        "elementwise",
        ("bias_gelu_kernel", "bias_gelu"),
        limit=0.40,
    ),
    Pair("row sum", "reductions", ("row_sum",), "reductions", ("row_sum_kernel", "row_sum")),
    Pair(
        "row sum, whole operands",
        "row_programs",
        ("row_sum",),
        "reductions",
        ("row_sum_kernel", "row_sum"),
        limit=0.40,
    ),
    Pair(
        "full sum",
        "reductions",
        ("full_sum",),
        "reductions",
        FULL_SUM,
    ),
    Pair(
        "full sum, whole operands",
        "row_programs",
        ("full_sum",),
        "reductions",
        FULL_SUM,
        limit=0.40,
    ),
    Pair("top-k", "top_k", ("top_k",), "top_k", TOP_K),
    Pair("top-k, whole operands", "token_programs", ("top_k",), "top_k", TOP_K, limit=0.40),
)


def main() -> int:
    """Prints the table; 1 where a pair is over its limit."""
    over = False
    print(f"{'kernel':45}{'tile program':>14}{'Triton':>8}{'share':>8}")
    for pair in PAIRS:
        tile = count(TILES / f"{pair.tile_file}.py", pair.tile_functions)
        hand = count(TRITON / f"{pair.hand_file}.py", pair.hand_functions)
        limit = f"  (at most {pair.limit:.0%})" if pair.limit else ""
        print(f"{pair.name:45}{tile:14}{hand:8}{tile / hand:8.0%}{limit}")
        over |= pair.limit is not None and tile / hand > pair.limit
    return int(over)


def count(path: Path, functions: tuple[str, ...]) -> int:
    """The lines with code of the named top-level functions; `file.function` is one elsewhere."""
    others = [name.split(".") for name in functions if "." in name]
    elsewhere = sum(count(path.with_stem(file), (name,)) for file, name in others)
    return elsewhere + own_lines(path, [name for name in functions if "." not in name])


def own_lines(path: Path, functions: list[str]) -> int:
    text = path.read_text()
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    coded = code_lines(text)
    lines: set[int] = set()
    for function in functions:
        node = found[function]
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        assert node.end_lineno is not None
        lines |= coded & set(range(first, node.end_lineno + 1))
        lines -= docstring_lines(node)
    return len(lines)


def code_lines(text: str) -> set[int]:
    """The numbers of all lines that hold a token other than a comment."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT_TOKENS:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return lines


def docstring_lines(function: ast.FunctionDef) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            assert docstring.end_lineno is not None
            lines |= set(range(docstring.lineno, docstring.end_lineno + 1))
    return lines


if __name__ == "__main__":
    sys.exit(main())
