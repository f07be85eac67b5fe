"""Linear maps over GF(2): application, products, inversion."""

import random

import numpy as np
import pytest

from tile2triton.layouts.bits import rank
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.generic_linear import GenericLinear
from tile2triton.layouts.linear import LinearLayout, identities, identity, zeros
from tile2triton.layouts.swizzled_shared import SwizzledShared


def random_memory(rng, bits):
    """A map from offsets to 2**bits elements that is one to one."""
    while True:
        images = [rng.randrange(1, 1 << bits) for _ in range(bits)]
        if rank(images) == bits:
            bases = tuple((image,) for image in images)
            return LinearLayout((("offset", bases),), (("dim0", 1 << bits),))


def test_images_of_ranges_are_the_exclusive_ors_of_images_of_bits():
    whole = SwizzledShared(2, 1, 4, (1, 0)).linear((4, 8))
    layout = LinearLayout(whole.inputs[:1], whole.outputs)
    rows, columns = layout(offset=np.arange(32))
    assert rows.tolist() == [offset // 8 for offset in range(32)]
    assert columns.tolist() == [offset % 8 ^ 2 * (offset // 8) for offset in range(32)]
    assert [part.tolist() for part in layout.table()] == [rows.tolist(), columns.tolist()]


def test_products_count_on_where_the_first_one_ends():
    layout = identity(2, "register", "dim0") * identity(4, "lane", "dim0")
    assert layout(register=1, lane=3) == (7,)
    assert layout.outputs == (("dim0", 8),)
    shared = layout * zeros(2, "lane", "dim0") * identity(2, "warp", "dim1")
    assert shared(lane=4) == (0, 0)
    assert shared(lane=3, warp=1) == (6, 1)
    assert identities((2, 4), "lane", (1, 0))(lane=np.arange(8))[0].tolist() == [0, 1, 2, 3] * 2


def test_the_place_of_each_element_is_found_again():
    rng = random.Random(0)
    for _ in range(30):
        memory = random_memory(rng, 7)
        registers = random_memory(rng, 7)
        registers = LinearLayout((("lane", registers.bases("offset")),), registers.outputs)
        places = registers.after_inverse_of(memory)
        lanes = np.arange(128)
        (offsets,) = places(lane=lanes)
        assert memory(offset=offsets)[0].tolist() == registers(lane=lanes)[0].tolist()


def test_of_several_places_the_lowest_is_taken():
    memory = LinearLayout((("offset", ((1,), (1,), (2,))),), (("dim0", 4),))
    registers = identity(4, "lane", "dim0")
    assert registers.after_inverse_of(memory).bases("lane") == ((1,), (4,))


def test_cut_layouts_share_elements_and_repeated_ones_count_on():
    layout = identity(8, "lane", "dim0")
    cut = layout.at_most({"dim0": 2})
    assert cut(lane=np.arange(8))[0].tolist() == [0, 1] * 4
    longer = (LinearLayout((("register", ()),), ()) * layout).at_least({"dim0": 32})
    assert longer(register=3, lane=7) == (31,)


@pytest.mark.parametrize(
    ("memory", "code"),
    [
        (LinearLayout((("offset", ((1,), (2,), (3,))),), (("dim0", 8),)), "T2T922"),
        (identity(4, "offset", "dim0"), "T2T923"),
    ],
)
def test_elements_without_a_place_are_refused(memory, code):
    with pytest.raises(LayoutError) as caught:
        GenericLinear((), ((1,), (2,), (4,)), ()).linear((8,)).after_inverse_of(memory)
    assert caught.value.diagnostics[0].code == code
