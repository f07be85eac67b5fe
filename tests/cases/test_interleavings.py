"""Groups of threads beside each other: in every order the result is Triton's, or it is refused."""

import re

import numpy as np
import pytest
import torch

from rewrites.errors import RewriteError
from tests import lane_programs
from tests.role_programs import broken, program
from tests.thread_executor import Machine, StuckError, choices
from tests.tile_program import parse_program
from tile2triton import pipeline, runtime
from tile2triton.emit import emit


def shape_of(text: str, name: str) -> tuple[int, int]:
    found = re.search(rf"{name}: T.Tensor\(\((\d+), (\d+)\)", text)
    assert found is not None
    return int(found[1]), int(found[2])


def outcomes(
    text: str, groups: int, values: np.ndarray, seed: int, is_single: bool = False
) -> list[np.ndarray | None]:
    """What different orders of the threads give; None where they get stuck."""
    found: list[np.ndarray | None] = []
    for choose in choices(groups, 3 if is_single else 12, seed):
        arrays = {"A": values.copy(), "C": np.zeros(shape_of(text, "C"), np.int32)}
        try:
            Machine(text, arrays, groups, is_single).run(choose)
        except StuckError:
            found.append(None)
        else:
            found.append(arrays["C"])
    return found


def by_triton(text: str, values: np.ndarray) -> np.ndarray | None:
    """What the emitted kernel computes; None where the program is refused."""
    made = parse_program(text)
    try:
        tree = pipeline.lower(made, "cuda:90")
    except RewriteError as error:
        assert all(problem.code.startswith("T2T7") for problem in error.problems)
        return None
    result = runtime.load(emit(tree, made.facts), "k")(torch.from_numpy(values.copy()))
    return result.numpy()


def values_of(text: str, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.integers(1, 50, shape_of(text, "A"), np.int32)


@pytest.mark.parametrize("seed", range(20))
def test_right_barriers_are_proved_and_every_order_agrees(seed):
    text, groups = program(seed)
    values = values_of(text, seed)
    found = by_triton(text, values)
    assert found is not None, text
    for order in outcomes(text, groups, values, seed):
        assert order is not None
        np.testing.assert_array_equal(order, found, err_msg=text)


@pytest.mark.parametrize("seed", range(80))
def test_broken_barriers_are_refused_or_change_nothing(seed):
    text, groups = program(seed)
    text = broken(text, seed)
    values = values_of(text, seed)
    found = by_triton(text, values)
    if found is None:
        return
    for order in outcomes(text, groups, values, seed):
        assert order is not None, text
        np.testing.assert_array_equal(order, found, err_msg=text)


@pytest.mark.parametrize("seed", range(20))
def test_threads_that_know_their_numbers_are_lanes(seed):
    text, threads = lane_programs.program(seed)
    values = values_of(text, seed)
    found = by_triton(text, values)
    assert found is not None, text
    for order in outcomes(text, threads, values, seed, is_single=True):
        assert order is not None
        np.testing.assert_array_equal(order, found, err_msg=text)


def test_orders_are_told_apart():
    """Some mistake and some missing barrier show, or no test here could fail."""
    shown = 0
    for seed in range(12):
        text, groups = program(seed)
        text = broken(text, seed)
        found = outcomes(text, groups, values_of(text, seed), seed)
        differ = any(order is None or not np.array_equal(order, found[0]) for order in found)
        shown += differ and by_triton(text, values_of(text, seed)) is None
    assert shown
    threads = [lane_programs.program(seed) for seed in range(12)]
    bare = [(re.sub(r"T.sync_threads\(\)", "mine = mine", text), n) for text, n in threads]
    orders = [outcomes(text, n, values_of(text, 0), 0, is_single=True) for text, n in bare]
    assert any(not np.array_equal(one[0], other) for one in orders for other in one)
