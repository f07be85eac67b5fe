"""Random numbers: all meanings draw the same, in the order of the loops."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree
from tile2triton.ops.random import philox


def test_numbers_of_the_published_test_vectors():
    """Random123's known answers for Philox 4x32 with ten rounds."""
    zero = [int(philox(0, 0, number)) for number in range(4)]
    assert zero == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("columns", [16, 11])
def test_each_iteration_has_its_number(columns, device):
    outcome = agree(
        f"""
        def k(S: T.Tensor((1,), "int32"), C: T.Tensor((3, 2, 6, {columns}), "uint32"),
              D: T.Tensor((3, 2), "uint32")):
            with T.Kernel(3, threads=1) as bx:
                T.rng_init(S[0], seq=bx, off=5)
                for step in T.serial(2):
                    for i, j in T.Parallel(6, {columns}):
                        C[bx, step, i, j] = T.rng_rand()
                    D[bx, step] = T.rng_rand()
        """,
        [torch.tensor([1234], dtype=torch.int32)],
        device,
        outputs=("C", "D"),
    )
    drawn = torch.cat([part.flatten().to(torch.int64) for part in outcome.triton])
    assert drawn.unique().numel() == drawn.numel()


def test_transposed_stores_draw_in_the_order_of_the_loops(device):
    agree(
        """
        def k(S: T.Tensor((1,), "int32"), C: T.Tensor((8, 4), "uint32")):
            with T.Kernel(1, threads=1) as bx:
                T.rng_init(7)
                for i, j in T.Parallel(4, 8):
                    if i < 3:
                        C[j, i] = T.rng_rand()
                    else:
                        C[j, i] = 0
        """,
        [torch.zeros(1, dtype=torch.int32)],
        device,
    )


@pytest.mark.parametrize("dist", ["uniform", "normal"])
@pytest.mark.parametrize("bit", [32, 64])
def test_floats_have_their_distribution(dist, bit, device):
    outcome = agree(
        f"""
        def k(S: T.Tensor((1,), "int32"), C: T.Tensor((4, 1024), "float{bit}")):
            with T.Kernel(4, threads=1) as bx:
                T.rng_init(99, generator="curandStateXORWOW_t")
                for i in T.Parallel(1024):
                    C[bx, i] = T.rng_rand_float(bit={bit}, dist="{dist}")
        """,
        [torch.zeros(1, dtype=torch.int32)],
        device,
        tolerance=1e-5 if bit == 32 else 1e-12,
    )
    drawn = outcome.triton[0]
    mean, deviation = (0.5, 12**-0.5) if dist == "uniform" else (0.0, 1.0)
    assert abs(float(drawn.mean()) - mean) < 0.05
    assert abs(float(drawn.std()) - deviation) < 0.05
    if dist == "uniform":
        assert drawn.min() > 0 and drawn.max() <= 1


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        ("C[bx] = T.rng_rand()", "T2T620"),
        ("T.rng_init(1, generator='mersenne')", "T2T619"),
        ("T.rng_init(1); C[bx] = T.cast(T.rng_rand_float(dist='flat'), 'uint32')", "T2T619"),
    ],
)
def test_mistakes_with_random_numbers_are_named(statements, code, device):
    with pytest.raises(RewriteError) as raised:
        agree(
            f"""
            def k(S: T.Tensor((1,), "int32"), C: T.Tensor((4,), "uint32")):
                with T.Kernel(4, threads=1) as bx:
                    {statements}
            """,
            [torch.zeros(1, dtype=torch.int32)],
            device,
        )
    assert [problem.code for problem in raised.value.problems] == [code]
