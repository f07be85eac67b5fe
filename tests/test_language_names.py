"""Every name of TileLang's language has a verdict, and what is said to work is tested."""

import functools
import re
from pathlib import Path

from scripts.language_page import KINDS, NAMES, UNKNOWN, verdict
from tile2triton.diagnostics_catalogue import CATALOGUE

TESTS = Path(__file__).parent
VERDICTS = {name: verdict(name) for name in NAMES}


def test_the_names_are_those_of_tilelang() -> None:
    assert len(NAMES) == len(set(NAMES)) == 703


def test_every_name_has_a_verdict() -> None:
    # Give it a meaning, or refuse it in tile2triton/ops/refused.py.
    assert [name for name in NAMES if VERDICTS[name] is UNKNOWN] == []


def test_every_verdict_says_why() -> None:
    for name, found in VERDICTS.items():
        assert found.kind in KINDS and found.note.strip(" ."), name
        assert found.kind != "refused" or found.code in CATALOGUE, name


@functools.cache
def used_in_tests() -> frozenset[str]:
    """Names after `T.`, and names as strings, which parametrised tests put there."""
    text = "\n".join(p.read_text() for p in TESTS.rglob("*.py") if p != Path(__file__))
    found = re.findall(r"\bT\.(\w+)|[\"'](\w+)[\"']", text)
    return frozenset(name for pair in found for name in pair)


def test_what_works_is_tested() -> None:
    works = [name for name, found in VERDICTS.items() if found.kind != "refused"]
    assert [name for name in works if name not in used_in_tests()] == []
