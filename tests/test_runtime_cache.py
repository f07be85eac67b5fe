"""Emitted modules as files: written once, whole, and found again by what they hold."""

import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from tile2triton import module_cache
from tile2triton.environment import CACHE_DIR, VARIABLES, cache_directory
from tile2triton.module_cache import write_module


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_DIR.name, str(tmp_path / "cache"))
    return tmp_path / "cache"


def _write(text: str) -> str:
    return str(write_module(text, "matmul"))


def test_a_module_is_written_under_its_name(cache):
    path = write_module("x = 1\n", "matmul")
    assert path.parent == cache
    assert path.name.startswith("matmul_")
    assert path.read_text() == "x = 1\n"
    assert [entry.name for entry in cache.iterdir()] == [path.name]


def test_other_texts_have_other_files(cache):
    assert write_module("x = 1\n", "matmul") != write_module("x = 2\n", "matmul")


def test_an_unchanged_file_is_kept(cache):
    path = write_module("x = 1\n", "matmul")
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert write_module("x = 1\n", "matmul") == path
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


@pytest.mark.parametrize("damage", ["", "x = ", "x = 2\n"])
def test_a_damaged_or_edited_file_is_replaced(cache, damage):
    path = write_module("x = 1\n", "matmul")
    path.write_text(damage)
    write_module("x = 1\n", "matmul")
    assert path.read_text() == "x = 1\n"


def test_many_threads_write_the_same_file(cache):
    text = "x = 1\n" * 20_000
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(write_module(text, "matmul")))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(paths)) == 1
    assert paths[0].read_text() == text
    assert len(list(cache.iterdir())) == 1


def test_many_processes_write_the_same_file(cache):
    text = "x = 1\n" * 20_000
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        paths = pool.map(_write, [text] * 9)
    assert len(set(paths)) == 1
    assert Path(paths[0]).read_text() == text
    assert len(list(cache.iterdir())) == 1


def test_an_unusable_directory_gives_a_private_one_and_one_warning(tmp_path, monkeypatch):
    # A file in the way cannot be made a directory by anyone, the administrator included.
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_DIR.name, str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(module_cache, "_private", None)
    with pytest.warns(RuntimeWarning, match=CACHE_DIR.name) as caught:
        path, again = (write_module("x = 1\n", "matmul") for _ in range(2))
    assert len(caught) == 1
    assert path == again
    assert path.read_text() == "x = 1\n"
    module_cache._private.cleanup()


def test_the_directory_is_in_the_home_unless_set(monkeypatch):
    monkeypatch.delenv(CACHE_DIR.name, raising=False)
    assert cache_directory() == Path.home() / ".cache" / "tile2triton"
    monkeypatch.setenv(CACHE_DIR.name, os.path.join("~", "elsewhere"))
    assert cache_directory() == Path.home() / "elsewhere"


def test_every_variable_has_the_prefix_and_a_meaning():
    assert all(row.name.startswith("TILE2TRITON_") and row.meaning for row in VARIABLES)
