"""Loops made at random: those that are shared out give what they gave, and others are refused."""

import random

import numpy as np
import torch

from rewrites.errors import RewriteError
from rewrites.facts import Program
from rewrites.schedule import Schedule
from tests.tile_program import parse_program
from tile2triton import pipeline, reference

TILES = ("x", "t", "u", "a", "b", "m", "n")
STARTS = {
    "a": ("0", "0", "1"),
    "b": ("0",),
    "m": ('-T.infinity("float32")', "-1e30", "0"),
    "n": ('-T.infinity("float32")', "-3"),
}


def softmax(pick: random.Random) -> list[str]:
    """Two sums relative to a running maximum, which takes numbers with a scale or without."""
    m, c = pick.choice("mn"), pick.choice(("", " * s", " * 2", " * 0.5"))
    a, b = pick.sample("ab", 2)
    return [
        f"t[i] = {m}[i]",
        f"{m}[i] = T.max({m}[i], x[i])",
        f"u[i] = T.exp2(t[i]{c} - {m}[i]{c})",
        f"{a}[i] = {a}[i] * u[i]",
        f"{a}[i] += T.exp2(x[i]{c} - {m}[i]{c})",
        f"{b}[i] *= u[i]",
        f"{b}[i] += x[i] * T.exp2((x[i] - {m}[i]){c})",
    ]


def statement(pick: random.Random) -> str:
    """One that a softmax might have, in another place or with another operand."""
    one, m, t = pick.choice("abmn"), pick.choice("mn"), pick.choice("tmn")
    c = pick.choice(("", " * s", " * 2"))
    return pick.choice(
        (
            f"t[i] = T.max({m}[i], x[i]{c})",
            f"{m}[i] = T.max({m}[i], {pick.choice('xt')}[i])",
            f"{m}[i] = t[i]",
            f"t[i] = {m}[i]",
            f"u[i] = T.exp2({t}[i]{c} - {m}[i]{c})",
            f"{one}[i] = {one}[i] * {pick.choice('ut')}[i]",
            f"{one}[i] = {one}[i] * T.exp2((t[i] - m[i]){c})",
            f"{one}[i] += {pick.choice(('x[i]', 'u[i]', 'x[i] * u[i]', 'k'))}",
            f"{one}[i] += T.exp2(x[i]{c} - {t}[i]{c})",
            f"{one}[i] = T.if_then_else(x[i] > 0, {one}[i] + x[i], {pick.choice('abmn')}[i])",
        )
    )


def mutated(body: list[str], pick: random.Random) -> list[str]:
    """Statements added, left out, exchanged or replaced; most of what results is no softmax."""
    for _ in range(pick.choice((0, 1, 1, 2))):
        at, other = pick.randrange(len(body)), pick.randrange(len(body))
        what = pick.randrange(4)
        if what == 0:
            body.insert(at, statement(pick))
        elif what == 1 and len(body) > 2:
            del body[at]
        elif what == 2:
            body[at], body[other] = body[other], body[at]
        else:
            body[at] = statement(pick)
    return body


def guarded(one: str, pick: random.Random) -> list[str]:
    """A statement for every element; at times in some turns or for some elements only."""
    loop = ["for i in T.Parallel(16):", f"    {one}"]
    if pick.random() < 0.06:
        return ["if k % 2 == 0:", *(f"    {line}" for line in loop)]
    if pick.random() < 0.08:
        return [loop[0], "    if i < 9:", f"        {one}"]
    return loop


def program(pick: random.Random) -> str:
    body = softmax(pick) if pick.random() < 0.8 else [statement(pick), statement(pick)]
    outputs = pick.sample("abmn", pick.randint(1, 3))
    lines = [f'{one} = T.alloc_fragment((16,), "float32")' for one in TILES]
    lines += [f"T.fill({one}, {pick.choice(starts)})" for one, starts in STARTS.items()]
    lines += ["T.clear(t)", "T.clear(u)", "for k in T.serial(7):", "    T.copy(X[k, 0], x)"]
    lines += [f"    {line}" for one in mutated(body, pick) for line in guarded(one, pick)]
    lines += [f"T.copy({one}, C[{row}, 0])" for row, one in enumerate(outputs)]
    return (
        'def k(X: T.Tensor((7, 16), "float32"), s: T.float32, C: T.Tensor((3, 16), "float32")):\n'
        "    with T.Kernel(1, threads=32) as bx:\n" + "".join(f"        {line}\n" for line in lines)
    )


def test_what_is_shared_out_stays_the_same() -> None:
    pick = random.Random(5)
    generator = torch.Generator().manual_seed(5)
    shared = refused = 0
    for _ in range(200):
        text = program(pick)
        split = parse_program(text)
        split.facts.schedule = Schedule(splits={"": pick.choice((2, 3, 4, 8))})
        inputs = (torch.randn(7, 16, generator=generator) * 2, 0.7)
        try:
            tree = pipeline.lower(split, "cuda:90", after="split_loops")
        except RewriteError as error:
            assert error.problems[0].code == "T2T941", text
            refused += 1
            continue
        shared += 1
        with np.errstate(all="ignore"):
            (wanted,) = reference.run(parse_program(text), inputs)
            (found,) = reference.run(Program(tree, split.facts), inputs)
        rows = text.count(", C[")
        wanted, found = (np.asarray(one, np.float64)[:rows] for one in (wanted, found))
        # What was no number, or too large for one, may be another such thing.
        known = np.isfinite(wanted) & (np.abs(wanted) < 1e15)
        assert np.allclose(found[known], wanted[known], rtol=2e-3, atol=1e-4), text
    assert shared >= 30 and refused >= 30
