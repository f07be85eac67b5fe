"""Hints where a kernel is unlike most: its only tile, operands that are cast, rows that jump."""

import pytest

import tile2triton
import tile2triton.language as T
from tests.compiled_hints import compiled, moved
from tests.hinted import product

pytestmark = [pytest.mark.compile, pytest.mark.usefixtures("one_compiler")]


@tile2triton.kernel(out_idx=[2])
def unlooped(M=64, K=64, dtype="float16"):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype), B: T.Tensor((K, 64), dtype), C: T.Tensor((M, 64), "float32")
    ):
        with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), dtype)
            b = T.alloc_shared((64, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[bx * 64, 0], a, prefer_instruction="cp_async")
            T.copy(B[0, 0], b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C[bx * 64, 0])

    return main


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 16), ({"dtype": "float32"}, 16), ({"M": 50, "K": 40}, 16), ({"K": 42}, 4)],
)
def test_only_tile_of_a_kernel_is_copied_asynchronously(settings, size):
    said, _ = compiled(unlooped, "cuda:80", **settings)
    (hint,) = [one for one in said.hints if "prefer_instruction" in one.construct]
    assert hint.how == "patch", hint.detail
    assert any(name.startswith(f"cp.async {size} bytes") for name in moved(said))


def test_asynchronous_copies_of_less_than_four_bytes_are_refused():
    said, _ = compiled(unlooped, "cuda:80", K=63)
    (hint,) = [one for one in said.hints if "prefer_instruction" in one.construct]
    assert hint.how == "none" and "smaller than 4 bytes; calculated this as 2 bytes" in hint.detail


def test_warps_share_out_products_whose_operands_are_cast():
    # gfx942 multiplies these eight bits as sixteen.
    shares = {}
    for policy in ("Square", "FullRow"):
        made = product(policy=policy, dtype="float8_e4m3")
        said, _ = compiled(made, "hip:gfx942")
        (shares[policy],) = [row.warps for row in said.tiles.products]
    (hint,) = [one for one in said.hints if "policy" in one.construct]
    assert hint.how == "patch", hint.detail
    assert shares["FullRow"] == (2, 1) != shares["Square"]
