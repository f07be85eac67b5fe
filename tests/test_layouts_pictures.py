"""Pictures of layouts: their cells say what the layout says, and can be read."""

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from tests.test_layouts_parse import MODULE
from tile2triton.explaining.page.pictures import picture_groups
from tile2triton.layouts.blocked import Blocked
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.nvidia_mma import NvidiaMma
from tile2triton.layouts.nvmma_shared import NvmmaShared
from tile2triton.layouts.padded_shared import PaddedShared
from tile2triton.layouts.pictures import banks_picture, owners_picture
from tile2triton.layouts.slices import Slice
from tile2triton.layouts.svg import shade
from tile2triton.layouts.swizzled_shared import SwizzledShared

SVG = "{http://www.w3.org/2000/svg}"


def groups(picture, kind):
    root = ET.fromstring(picture)
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == kind]


def labels(picture, kind="cell"):
    return [group.find(f"{SVG}text").text for group in groups(picture, kind)]


def test_each_element_has_a_cell_with_its_owner():
    picture = owners_picture(Blocked((1, 2), (4, 8), (2, 1), (1, 0)), (8, 16))
    found = labels(picture)
    assert len(found) == 8 * 16
    assert found[:3] == ["W0 L0 R0", "W0 L0 R1", "W0 L1 R0"]
    assert found[4 * 16] == "W1 L0 R0"
    assert Counter(label.split()[0] for label in found) == {"W0": 64, "W1": 64}
    assert labels(picture, "legend") == [f"lane {lane}" for lane in range(32)]


def test_colours_are_of_what_is_asked_for():
    layout = NvidiaMma(2, (2, 2), (16, 8))
    picture = owners_picture(layout, (32, 16), by="warp")
    colours = {
        (group.find(f"{SVG}text").text[:2], group.find(f"{SVG}rect").get("fill"))
        for group in groups(picture, "cell")
    }
    assert colours == {(f"W{warp}", shade(warp, 4)) for warp in range(4)}


def test_elements_that_several_own_say_so():
    picture = owners_picture(Slice(1, Blocked((1, 1), (8, 4), (1, 1), (1, 0))), (8,))
    assert labels(picture) == [f"W0 L{4 * at} R0 +3" for at in range(8)]


def test_swizzled_pieces_show_their_banks():
    picture = banks_picture(SwizzledShared(8, 1, 8, (1, 0)), (8, 64), 16)
    found = labels(picture)
    assert len(found) == 8 * 8
    for row in range(8):
        pieces = [4 * (row ^ column) for column in range(8)]
        assert found[8 * row : 8 * row + 8] == [f"{bank}-{bank + 3}" for bank in pieces]
    assert labels(picture, "legend") == [f"bank {4 * at}-{4 * at + 3}" for at in range(8)]
    story = groups(picture, "cell")[9].find(f"{SVG}title").text
    assert story == "row 1, columns 8-15: byte 128, banks 0-3"


def test_gaps_shift_the_banks_of_later_rows():
    picture = banks_picture(PaddedShared(((32, 1),), (1, 0)), (4, 32), 32, most=(4, 4))
    first = [group.split("-")[0] for group in labels(picture)]
    assert len(first) == 4 * 4 and [first[4 * row] for row in range(4)] == ["0", "1", "2", "3"]


def test_elements_smaller_than_a_word_stay_together_where_the_layout_keeps_them():
    assert labels(banks_picture(NvmmaShared(32, False, 16), (8, 16), 16))[:2] == ["0-3", "4-7"]
    columns = banks_picture(SwizzledShared(1, 1, 1, (0, 1)), (8, 4), 16)
    assert labels(columns)[:8] == ["0", "4", "8", "12"] * 2


def test_large_tensors_show_their_first_elements_and_say_so():
    picture = banks_picture(SwizzledShared(8, 1, 8, (1, 0)), (128, 64), 16, most=(16, 4))
    assert len(labels(picture)) == 16 * 4
    description = ET.fromstring(picture).find(f"{SVG}desc").text
    assert "The first 16 rows and 32 columns." in description
    assert len(labels(owners_picture(Blocked((1,), (32,), (4,), (0,)), (256,)))) == 32


def test_pictures_are_the_same_each_time_and_read_aloud():
    layout = SwizzledShared(4, 1, 8, (1, 0))
    picture = banks_picture(layout, (8, 32), 32, title="A & <B>")
    assert picture == banks_picture(layout, (8, 32), 32, title="A & <B>")
    root = ET.fromstring(picture)
    assert root.get("role") == "img" and root.get("aria-label").startswith("A & <B>.")
    assert root.find(f"{SVG}title").text == "A & <B>"


def test_everything_lies_within_the_picture():
    root = ET.fromstring(owners_picture(NvidiaMma(2, (2, 2), (16, 8)), (32, 16)))
    width, height = float(root.get("width")), float(root.get("height"))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width
        assert float(box.get("y", 0)) + float(box.get("height")) <= height


def test_a_compiled_kernel_has_a_picture_for_each_buffer():
    def drawn(text):
        (group,) = picture_groups(text, "")
        (svg,) = re.findall("<svg.*</svg>", group, re.DOTALL)
        return labels(svg)

    # Of 64 rows the first 16, of 8 pieces each.
    found = drawn(MODULE)
    assert len(found) == 16 * 8 and found[8:10] == ["4-7", "0-3"]
    # Of 64 banks a row has half, so that rows alternate.
    assert drawn(MODULE.replace("cuda:80", "hip:gfx950"))[8:10] == ["36-39", "32-35"]


@pytest.mark.parametrize("count", [2, 8, 32, 64])
def test_black_letters_can_be_read_on_every_colour(count):
    for number in range(count):
        parts = [int(shade(number, count)[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        weights = (0.2126, 0.7152, 0.0722)
        luminance = sum(
            weight * ((part + 0.055) / 1.055) ** 2.4
            for weight, part in zip(weights, parts, strict=True)
        )
        assert (luminance + 0.05) / 0.05 > 7


@pytest.mark.parametrize(
    "make",
    [
        lambda: owners_picture(SwizzledShared(1, 1, 1, (1, 0)), (8, 8)),
        lambda: owners_picture(Blocked((1,), (32,), (1,), (0,)), (32,), by="thread"),
        lambda: banks_picture(Blocked((1,), (32,), (1,), (0,)), (32,), 32),
    ],
)
def test_pictures_of_the_wrong_kind_are_refused(make):
    with pytest.raises(LayoutError) as caught:
        make()
    assert caught.value.diagnostics[0].code == "T2T932"
