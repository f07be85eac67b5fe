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


def doubled(x):
    return x * 2


def softmax_of_scores(x):
    return torch.softmax(x * 0.125, 1)


@pytest.mark.parametrize(
    ("block", "shape", "meaning"),
    [(0, 4096, doubled), (1, 4096, doubled), (2, (10, 64), softmax_of_scores), (3, 4096, doubled)],
    ids=["eager", "lazy", "values", "tuned"],
)
def test_kernels_of_the_guide_run(block, shape, meaning, tmp_path):
    # A kernel is read from its file, so the block becomes one.
    script = tmp_path / "guide.py"
    imports = "import torch, tile2triton\nimport tile2triton.language as T\n"
    script.write_text(
        imports + f"x = torch.randn({shape})\n" + code_blocks(ROOT / "docs/guide.md")[block]
    )
    names = runpy.run_path(str(script))
    torch.testing.assert_close(names["y"], meaning(names["x"]))


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
