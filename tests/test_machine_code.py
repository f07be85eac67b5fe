"""What the machine code of a kernel shows of the compiler's mistakes."""

import pytest

from tile2triton.machine_code import unwritten_registers

# Of a product that came out wrong on an H200, and of others that came out right.
WRONG = """
        /*0740*/                   UMOV UR10, UR5 ;
        /*0460*/                   USGXT.U32 UR5, UR4, 0xe ;
        /*0440*/                   UIADD3 UR4, UR6, 0x2000, URZ ;
        /*0180*/                   ULEA UR6, UR4, UR6, 0x18 ;
        /*0780*/                   UIADD3 UR4, UP0, UR7, 0x40, URZ ;
"""
RIGHT = {
    "a pair": """
        /*0030*/                   ULDC.64 UR20, c[0x0][0x208] ;
        /*0040*/                   UIMAD.WIDE UR6, UR20, 0x4, URZ ;
        /*0050*/                   UIADD3 UR4, UR7, UR21, URZ ;
    """,
    "a descriptor of which half is read": """
        /*3210*/                   HGMMA.64x128x16.F32 R24, R104, gdesc[UR24], R24 ;
        /*3220*/                   LDG.E.128 R8, desc[UR20][R32.64+0x800] ;
    """,
    "a reduction": "/*01e0*/ CREDUX.MAX.F32 UR6, R9 ; /*01f0*/ MOV R4, UR6 ;",
    "a condition": "/*0010*/ @UP0 UMOV UR4, 0x1 ; /*0020*/ @!UP0 UIADD3 UR5, UR4, 0x1, URZ ;",
}


def test_registers_that_nothing_writes_are_found():
    assert unwritten_registers(WRONG) == ["UR7"]


@pytest.mark.parametrize("listing", RIGHT.values(), ids=RIGHT)
def test_what_is_written_or_not_read_is_right(listing):
    assert unwritten_registers(listing) == []


def test_stores_read_their_first_operand():
    assert unwritten_registers("/*0000*/ STS [UR4], R4 ;") == ["UR4"]
    assert unwritten_registers("/*0000*/ UTMALDG.2D [UR8], [UR6] ;") == ["UR6", "UR8"]
