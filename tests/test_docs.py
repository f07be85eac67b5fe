"""The documentation says what the code does: generated pages, the README's kernel, links."""

import re
import runpy
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent
PAGES = runpy.run_path(str(ROOT / "scripts/make_docs.py"))["PAGES"]
PROSE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def code_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES)
def test_generated_page_is_up_to_date(path):
    assert (ROOT / path).read_text() == PAGES[path](), "run `make docs`"


def test_readme_shows_the_first_kernel_as_it_is():
    kernel = code_blocks(ROOT / "README.md")[0]
    assert kernel in (ROOT / "examples/first_kernel.py").read_text()


@pytest.mark.parametrize("block", [0, 1, 2], ids=["eager", "lazy", "tuned"])
def test_kernels_of_the_guide_run(block, tmp_path):
    # A kernel is read from its file, so the block becomes one.
    script = tmp_path / "guide.py"
    imports = "import torch, tile2triton\nimport tile2triton.language as T\n"
    script.write_text(
        imports + "x = torch.randn(4096)\n" + code_blocks(ROOT / "docs/guide.md")[block]
    )
    names = runpy.run_path(str(script))
    torch.testing.assert_close(names["y"], names["x"] * 2)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
