"""Bounds of copies (C3), index expressions (C7, C8) and loops smaller than the tile (C9)."""

import numpy as np
import pytest
import torch

import tile2triton
from tests.cases.agreement import expect
from tests.cases.kernels.copies import (
    add_repeated,
    copy_padded,
    copy_tiles,
    partly_set,
    rotate_global,
    rotate_tile,
)


@pytest.mark.parametrize("safe_value", [None, -99.0])
@pytest.mark.parametrize("shape", [(60, 60), (64, 60), (60, 64), (1, 1), (64, 64)])
@pytest.mark.parametrize("block", [(64, 64), (64, 72)])
def test_copy_pads_with_zero_or_the_safe_value(shape, block, safe_value):
    right = np.full(block, safe_value or 0.0)
    right[: shape[0], : shape[1]] = 1
    expect(copy_padded(*shape, *block, safe_value), (torch.ones(shape),), right)


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16"])
def test_safe_value_is_cast_to_the_type_of_the_tensor(dtype):
    right = np.full((16, 16), -99)
    right[:10, :12] = 1
    ones = torch.ones(10, 12, dtype=getattr(torch, dtype))
    expect(copy_padded(10, 12, 16, 16, -99, dtype), (ones,), right)


@pytest.mark.parametrize("block", [(16, 16), (24, 40), (7, 130)])
@pytest.mark.parametrize("shape", [(1, 1), (17, 33), (48, 65), (31, 130)])
def test_copy_masks_the_ragged_edge(shape, block):
    values = torch.randn(shape)
    expect(copy_tiles(*shape, *block), (values,), values)


@pytest.mark.parametrize("columns", [64, 60, 7])
def test_index_with_remainder_repeats(columns):
    repeated = np.tile(np.arange(columns) % 7, (16, 1))
    inputs = (torch.zeros(16, columns), torch.arange(7, dtype=torch.float32))
    expect(add_repeated(16, columns, 7), inputs, repeated.astype(np.float32))


@pytest.mark.parametrize("step", [1, 0, 127, -1, -130])
@pytest.mark.parametrize("size", [128, 100])
def test_rotated_global_index_floors_its_remainder(size, step):
    right = np.roll(np.arange(size, dtype=np.int32), -step)
    expect(rotate_global(size, step), (torch.arange(size, dtype=torch.int32),), right)


@pytest.mark.parametrize("step", [1, 127, -1])
def test_rotated_tile_is_right_or_refused_by_its_index(step):
    try:
        kernel = rotate_tile(128, step)
    except tile2triton.Error as error:
        assert "% 128" in str(error) or "% size" in str(error)
        return
    right = np.roll(np.arange(128, dtype=np.int32), -step)
    expect(kernel, (torch.arange(128, dtype=torch.int32),), right)


@pytest.mark.parametrize(("size", "first"), [(256, 100), (256, 256), (256, 1), (200, 130)])
def test_loop_smaller_than_the_tile_leaves_the_rest(size, first):
    right = np.ones(size, np.float32)
    right[:first] = 6
    expect(partly_set(size, first), (), right)
