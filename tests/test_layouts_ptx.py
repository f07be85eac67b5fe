"""PTX is evaluated thread by thread as far as addresses need it."""

import numpy as np
import pytest

from tile2triton.layouts.ptx_accesses import measured_in_ptx
from tile2triton.layouts.ptx_values import Registers, UnknownValueError

THREADS = np.arange(64)


def value(*lines):
    """What the register that the last line writes has in each of 64 threads."""
    return Registers([*lines], 64).value(lines[-1].split()[1].strip(","))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("and.b32 %r2, %r1, 12;", THREADS & 12),
        ("or.b32 %r2, %r1, 0x40;", THREADS | 64),
        ("xor.b32 %r2, %r1, 5;", THREADS ^ 5),
        ("not.b32 %r2, %r1;", ~THREADS & 0xFFFFFFFF),
        ("neg.s32 %r2, %r1;", -THREADS & 0xFFFFFFFF),
        ("shl.b32 %r2, %r1, 4;", THREADS << 4),
        ("shr.u32 %r2, %r1, 2;", THREADS >> 2),
        ("add.s32 %r2, %r1, -1;", (THREADS - 1) & 0xFFFFFFFF),
        ("sub.s32 %r2, 100, %r1;", 100 - THREADS),
        ("mul.lo.s32 %r2, %r1, 132;", 132 * THREADS),
        ("mad.lo.s32 %r2, %r1, 3, 7;", 3 * THREADS + 7),
        ("bfe.u32 %r2, %r1, 1, 3;", THREADS >> 1 & 7),
        ("bfe.s32 %r2, %r1, 5, 1;", np.where(THREADS & 32, 0xFFFFFFFF, 0)),
        ("lop3.b32 %r2, %r1, 12, 5, 0x78;", THREADS ^ (12 & 5)),
        ("shfl.sync.idx.b32 %r2|%p1, %r1, 3, 31, -1;", THREADS // 32 * 32 + 3),
        ("mov.b32 %r2, global_smem;", 0 * THREADS),
    ],
)
def test_instructions_mean_what_ptx_says(line, expected):
    registers = Registers(["mov.u32 %r1, %tid.x;", line], 64)
    assert registers.value("%r2").tolist() == expected.tolist()


def test_numbers_are_compared_with_and_without_sign():
    lines = ["mov.u32 %r1, %tid.x;", "sub.s32 %r2, %r1, 32;"]
    for kind, expected in (("s32", THREADS < 32), ("u32", np.full(64, False))):
        both = [*lines, f"setp.lt.{kind} %p1, %r2, 0;", "selp.b32 %r3, 1, 2, %p1;"]
        assert value(*both).tolist() == np.where(expected, 1, 2).tolist()
    assert value(*lines, "shr.s32 %r3, %r2, 4;").tolist() == [
        (thread - 32 >> 4) & 0xFFFFFFFF for thread in range(64)
    ]


def test_registers_of_loops_have_the_value_of_the_first_trip():
    lines = ["mov.b32 %r1, 0;", "add.s32 %r1, %r1, 1;", "mov.b32 %r2, %r1;"]
    assert set(value(*lines).tolist()) == {0}
    # The same, where the register that comes round is asked for second.
    lines = ["mov.b32 %r1, 0;", "add.s32 %r2, %r1, 1;", "mov.b32 %r1, %r2;"]
    assert set(Registers(lines, 64).value("%r2").tolist()) == {1}


@pytest.mark.parametrize(
    "lines",
    [
        ["ld.param.b32 %r1, [kernel_param_0];"],
        ["mov.u32 %r1, %ctaid.x;"],
        ["add.s32 %r1, %r1, 4;"],
        ["fancy.b32 %r1, 3;"],
        ["mov.u32 %r1, %tid.x;", "mov.b32 %r1, 0;"],
        ["setp.lt.f32 %p1, 0, 1;"],
    ],
)
def test_what_is_not_known_has_no_value(lines):
    with pytest.raises(UnknownValueError):
        value(*lines)


PTX = """
.visible .entry kernel(
.reqntid 64
{
    .loc 1 7 3
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 7;
    st.shared.b32 [%r2+4], %r9;
    st.shared.b32 [%r2+8], %r9;
    .loc 1 8 3
    and.b32 %r3, %r1, 31;
    setp.eq.b32 %p1, %r3, 0;
    @%p1 st.shared.b32 [%r2], %r9;
    @!%p1 ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2];
    cp.async.ca.shared.global [ %r2 + 0 ], [ %rd2 + 0 ], 0x4, %r8;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r2];
    ld.param.b32 %r8, [kernel_param_0];
    ld.shared.b64 %rd1, [%r8];
}
"""


def test_accesses_of_a_line_are_one_row_of_each_kind():
    rows = [
        (row.line, row.instruction, row.instructions, row.issues, row.ideal, row.simulated)
        for row in measured_in_ptx(PTX)
    ]
    assert rows == [
        (7, "st.shared.b32", 2, 4, 4, 128),
        # One lane of each warp stores, which cannot conflict, and all but that one load.
        (8, "st.shared.b32", 1, 2, 2, 2),
        (8, "ld.shared.v4.b32", 1, 2, 8, 62),
        (8, "cp.async 4 B", 1, 2, 2, 64),
        (8, "ldmatrix.x2", 1, 2, 4, 32),
        (8, "ld.shared.b64", 1, 0, 0, 0),
    ]
    assert [row.unknown for row in measured_in_ptx(PTX)] == [0, 0, 0, 0, 0, 1]
