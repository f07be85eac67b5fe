"""What is predicted of compiled kernels is what their machine code has, on both Tritons."""

import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("triton")

from tests import layout_kernels
from tests.layout_kernels import compiled_described_gemm, compiled_gemm, compiled_text
from tile2triton.layouts.choose import choose
from tile2triton.layouts.predicted import predicted
from tile2triton.layouts.writing import written
from tile2triton.ttgir_text.module import read_module
from tile2triton.ttgir_text.tensor_types import alias_of

pytestmark = pytest.mark.compile

LOADS = {
    number
    for number, line in enumerate(Path(layout_kernels.__file__).read_text().splitlines(), 1)
    if "= tl.load(" in line
}


def located(assembly):
    """The instructions that stand for the lines which load, without the others."""
    line = 0
    for text in map(str.strip, assembly.splitlines()):
        if match := re.match(r"\.loc\s+\d+ (\d+)", text):
            line = int(match[1])
        # LLVM loses the line of some loads that transpose, which nothing else here has.
        elif line in LOADS or "_tr_" in text:
            yield text


def in_ptx(text):
    if match := re.match(r"(?:@\S+ )?(ld|st)matrix\.sync\.aligned\.m8n8\.(x\d)(\.trans)?", text):
        return [f"{match[1]}matrix.{match[2]}{match[3] or ''}"]
    if match := re.match(r"(?:@\S+ )?((?:ld|st)\.shared\.\S+)", text):
        return [match[1]]
    if match := re.match(r"(?:@\S+ )?cp\.async\.c[ga]\.shared\.global .*?\], (0x\w+|\d+),", text):
        return [f"cp.async {int(match[1], 0)} B"]
    return []


def in_gcn(text):
    # Two accesses at distances that fit are one instruction.
    if match := re.match(r"ds_(read|write)2(?:st64)?_b(\d+)", text):
        return [f"ds_{match[1]}_b{match[2]}"] * 2
    if match := re.match(r"ds_read_b64_tr_b\d+|ds_(?:read|write)_[bu]\d+", text):
        return [match[0]]
    if match := re.match(r"global_load_lds_dword(x4)?|buffer_load_dword(x4)? .* lds$", text):
        return [f"global_load_lds {16 if match[1] or match[2] else 4} B"]
    return []


def counts(rows, buffers="xy"):
    found = Counter()
    for row in rows:
        if row.buffer in buffers and not row.instruction.startswith(("wgmma", "cp.async.bulk")):
            found[row.instruction] += row.instructions
    return found


@pytest.mark.parametrize(
    ("target", "element", "form", "block_k"),
    [
        ("cuda:80", "fp16", "nn", 64),
        ("cuda:80", "fp16", "tt", 64),
        ("cuda:80", "fp32", "nt", 32),
        ("cuda:90", "fp32", "nn", 32),
        ("cuda:90", "fp16", "tn", 64),
    ],
)
def test_instructions_of_nvidia_are_as_predicted(target, element, form, block_k):
    compiled = compiled_gemm(target, element, form, block_k)
    found = Counter(name for text in located(compiled["ptx"]) for name in in_ptx(text))
    assert found and counts(predicted(compiled["ttgir"])) == found


@pytest.mark.parametrize(
    ("target", "element", "form", "block_k"),
    [
        ("hip:gfx942", "fp16", "nt", 64),
        ("hip:gfx942", "fp32", "nn", 32),
        ("hip:gfx950", "fp16", "nn", 64),
    ],
)
def test_instructions_of_amd_are_as_predicted(target, element, form, block_k):
    compiled = compiled_gemm(target, element, form, block_k)
    found = Counter(name for text in located(compiled["amdgcn"]) for name in in_gcn(text))
    wanted = counts(predicted(compiled["ttgir"]))
    assert found.keys() == wanted.keys()
    # LLVM writes some loops out more than once.
    assert len({found[name] / wanted[name] for name in wanted}) == 1


def test_copies_by_tma_and_operands_of_wgmma_are_rows_without_conflicts():
    rows = {
        (row.buffer, row.operation): row
        for row in predicted(compiled_described_gemm("cuda:90")["ttgir"])
        if row.depth
    }
    copy = rows["y", "ttng.async_tma_copy_global_to_local"]
    assert (copy.instruction, copy.instructions) == ("cp.async.bulk.tensor", 2)
    product = rows["x", "ttng.warp_group_dot"]
    assert (product.instruction, product.instructions, product.conflicts) == ("wgmma", 8, 0)
    assert product.trips == 8


def test_tritons_gaps_on_gfx950_are_free_of_conflicts():
    rows = predicted(compiled_gemm("hip:gfx950")["ttgir"])
    padded = "padded_shared" in compiled_gemm("hip:gfx950")["ttgir"]
    loads = [row for row in rows if row.operation == "ttg.local_load"]
    assert {row.instruction for row in loads} == {"ds_read_b128", "ds_read_b64_tr_b16"}
    # Triton 3.6 swizzles there instead.
    assert padded == (not any(row.conflicts for row in loads))


def test_a_turned_operand_of_tf32_is_copied_word_by_word_into_one_bank():
    rows = predicted(compiled_gemm("cuda:90", "fp32", "nn", 32)["ttgir"])
    worst = max(rows, key=lambda row: row.ways)
    assert (worst.buffer, worst.instruction, worst.ways) == ("y", "cp.async 4 B", 16.0)


def test_a_chosen_layout_compiles_to_what_is_predicted_of_it(tmp_path):
    text = compiled_described_gemm("hip:gfx942", turned=True)["ttgir"]
    (choice,) = choose(text)
    assert choice.buffer == "y" and choice.before.wavefronts > 8 * choice.after.wavefronts
    made = next(one for one in read_module(text).operations if choice.value in one.results)
    alias = alias_of(made.types[-1])
    attribute = written(choice.best)
    better = re.sub(rf"^#{alias} = .*$", f"#{alias} = {attribute}", text, flags=re.MULTILINE)
    wanted = counts(predicted(better))
    assert wanted.keys() == {"ds_write_b64", "ds_read_b64"} != counts(predicted(text)).keys()
    found = Counter()
    for line in compiled_text(better, tmp_path / "better.ttgir", "hip:gfx942")[
        "amdgcn"
    ].splitlines():
        found.update(in_gcn(line.strip()))
    # What is stored at the end is converted in shared memory with instructions of 128 bits.
    assert {name: found[name] % wanted[name] for name in wanted} == dict.fromkeys(wanted, 0)
    assert not any(row.conflicts for row in predicted(better))


def test_conversions_that_cross_warps_are_rows_without_figures():
    (row,) = [
        row
        for row in predicted(compiled_gemm("cuda:80")["ttgir"])
        if row.operation == "ttg.convert_layout"
    ]
    assert row.reason and not row.issues
