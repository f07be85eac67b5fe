"""The page of `tile2triton explain --html`: what stands in it, and that it holds together."""

from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from tile2triton.cli import main
from tile2triton.commands.kernels import compiled, kernels_in
from tile2triton.emit import emit
from tile2triton.emit.patches import without_patches
from tile2triton.explaining.origins import origins
from tile2triton.explaining.page.changes import compared
from tile2triton.explaining.page.document import document
from tile2triton.explaining.page.markup import Html, element
from tile2triton.explaining.page.panes import (
    Pane,
    machine_pane,
    program_pane,
    triton_pane,
    ttgir_pane,
)
from tile2triton.explaining.page.pictures import picture_groups
from tile2triton.explaining.page.section import NO_PATCHES, Section
from tile2triton.explaining.page.shared_memory import conflict_tables
from tile2triton.explaining.report import Explained
from tile2triton.explaining.tiles import Tiles
from tile2triton.layouts.predicted import predicted

MODULE = """\
import triton


@triton.jit
def k(A, C):
    a = tl.load(A)
    # <b>
    c = tl.dot(
        a, a
    )


def launch(A):
    k[1](A)
"""
TTGIR = """\
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], \
instrShape = [16, 8]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], \
order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#smem = #ttg.shared_memory
#loc = loc("/k.py":5:1)
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"} {
  tt.func public @k(%A: !tt.ptr<f16> loc("A"(#loc))) attributes {noinline = false} {
    %a = ttg.local_alloc %v : (tensor<64x64xf16, #blocked>) -> \
!ttg.memdesc<64x64xf16, #shared, #smem> loc(#loc4)
    %c = "tt.reduce"(%a) <{axis = 1 : i32}> ({
    ^bb0(%d: f32 loc(callsite(#loc1 at #loc2)), %e: f32 loc(unknown)):
      tt.reduce.return %d : f32 loc(#loc3)
    }) : (tensor<64x64xf32, #mma>) -> tensor<64xf32> loc(#loc2)
    %z = tt.dot %x, %y, %w : tensor<64x64xf16, #x> -> tensor<64x64xf32, #mma> loc(#loc2)
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
#loc1 = loc(unknown)
#loc2 = loc("/k.py":9:9)
#loc3 = loc("/other.py":9:9)
#loc4 = loc("a"(#loc5))
#loc5 = loc("/k.py":6:9)
"""
PTX = """\
.version 8.0
	.loc	1 6 9
	ld.global.b32 %r1, [%rd1];
	.loc	1 9 9
	mma.sync;
	.loc	2 9 9
	ret;
	.file	1 "/" "k.py"
	.file	2 "/" "other.py"
	.section	.debug_info
	{
	.b8 1
	}
	.section	.rest
"""


class Page(HTMLParser):
    """What of a page is asked here."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        # The lines of each pane: number, statements, text.
        self.panes: dict[str, list[tuple[int, tuple[int, ...], str]]] = {}
        self._pane = ""
        self._line: tuple[int, tuple[int, ...]] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        if given.get("id"):
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        if given.get("class") in ("pane", "pane empty"):
            self._pane = given["id"]
            self.panes[self._pane] = []
        if given.get("data-n"):
            statements = tuple(int(one) for one in (given.get("data-s") or "").split())
            self._line = int(given["data-n"].split()[-1]), statements

    def handle_endtag(self, tag):
        self._line = None

    def handle_data(self, data):
        if self._line is not None:
            self.panes[self._pane].append((*self._line, data.rstrip("\n")))

    def statements(self, pane: str, words: str) -> set[int]:
        """Those of the lines with these words."""
        found = [said for _, said, text in self.panes[pane] if words in text]
        assert found, f"no line of {pane} has {words}"
        return {statement for said in found for statement in said}


def require_whole(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert all(link.removeprefix("#") in page.ids for link in page.links), page.links
    # Nothing but our own script, and nothing is loaded.
    assert page.tags.count("script") == 1
    assert not {"link", "img", "iframe"} & set(page.tags)
    for name in page.panes:
        section = name.partition("-")[0]
        known = {one for _, said, _ in page.panes[f"{section}-triton"] for one in said}
        assert {one for _, said, _ in page.panes[name] for one in said} <= known


def statements(pane: Pane) -> dict[str, tuple[int, ...]]:
    return {line.text.strip(): line.statements for part in pane.parts for line in part.lines}


def test_text_is_escaped_and_html_is_not():
    made = element("p", "<b>", Html("<i>"), class_='a"b', hidden=True, id=False, data_n=1)
    assert made == '<p class="a&quot;b" hidden data-n="1">&lt;b&gt;<i></p>'


def test_lines_of_the_triton_are_known_by_their_statement():
    found = statements(triton_pane(MODULE, {6, 8}))
    assert found["a = tl.load(A)"] == (6,)
    assert found["a, a"] == found["# <b>"] == (8,)
    assert found["def k(A, C):"] == found["k[1](A)"] == ()


def test_lines_of_ttgir_belong_to_statements_through_their_locations():
    pane = ttgir_pane("stock", "", TTGIR, "/k.py", MODULE)
    lines = pane.parts[0].lines
    assert not any("loc(" in line.text or "#loc" in line.text for line in lines)
    found = {line.text.strip().partition(" :")[0]: line.statements for line in lines}
    assert found["%a = ttg.local_alloc %v"] == (6,)
    # What has a block is placed behind it.
    assert found['%c = "tt.reduce"(%a) <{axis = 1'] == found["})"] == (8,)
    assert found["tt.reduce.return %d"] == found["tt.return"] == ()
    assert [line.number for line in lines[:2]] == [1, 2]


def test_lines_of_machine_code_belong_to_statements_and_debuggers_have_none():
    pane = machine_pane("", PTX, "/k.py", MODULE)
    assert [(line.number, line.statements) for line in pane.parts[0].lines] == [
        (1, ()),
        (2, (6,)),
        (3, (6,)),
        *((4, (8,)), (5, (8,))),
        *((6, ()), (7, ()), (14, ())),
    ]


def test_lines_that_patches_change_are_marked_whatever_values_are_called():
    other = TTGIR.replace("[2, 2]", "[4, 1]").replace("%c", "%c_7").replace("%x,", "%x#1,")
    other = other.replace("@k(", "@k__0123abcd(")
    panes = [ttgir_pane("stock", "", text, "/k.py", MODULE) for text in (TTGIR, other)]
    for pane, sign in zip(compared(*panes), "-+", strict=True):
        changed = [line.text.partition(" ")[0] for line in pane.parts[0].lines if line.change]
        assert changed == ["#mma"]
        assert {line.change for line in pane.parts[0].lines} == {"", sign}


def test_a_module_without_its_patches_keeps_its_lines():
    text = "a = 1\ntry:\n    from tile2triton.ttgir import patch\nexcept ImportError:\n    pass\n"
    text += "else:\n    patch(\n        k,\n    )\nb = 2\n"
    assert without_patches(text) == "a = 1\n" + 8 * "\n" + "b = 2\n"
    assert without_patches(MODULE) == MODULE


def section(**changes) -> Section:
    explained = Explained(
        kernel="k",
        target="cuda:80",
        label="A <100>",
        options={"num_warps": 4},
        registers=10,
        spills=0,
        shared_memory=1024,
        shared_limit=2048,
        instructions={"mma.sync": 1},
        problem="",
        tiles=Tiles((), (), ()),
        hints=(),
    )
    panes = (
        Pane("program", "Program", "", ()),
        triton_pane(MODULE, {5, 6, 8}),
        ttgir_pane("stock", "TTGIR", TTGIR, "/k.py", MODULE),
        Pane("patched", "TTGIR with patches", NO_PATCHES, ()),
        machine_pane("PTX", PTX, "/k.py", MODULE),
    )
    return replace(Section("<k>", explained, panes, TTGIR, ""), **changes)


def test_a_page_holds_together_and_is_the_same_each_time():
    text = document("<title>", [section(), section()])
    assert text == document("<title>", [section(), section()])
    page = Page(text)
    require_whole(page)
    assert page.tags.count("section") == 2
    assert NO_PATCHES in text
    assert "<title>&lt;title&gt;: compiled kernels</title>" in text
    assert page.statements("k2-stock", "local_alloc") == {6}
    assert page.statements("k1-machine", "mma.sync") == {8}
    # Each table says what its columns and rows are of.
    assert page.tags.count("table") == page.tags.count("caption")
    assert {"th", "thead", "h1", "h2", "h3", "h4"} <= set(page.tags)


def test_a_problem_stands_in_place_of_facts():
    failed = replace(section().explained, problem="error: <no>")
    text = document("k.py", [section(explained=failed, stock="")])
    assert "error: &lt;no&gt;" in text
    assert "Resources" not in text


def test_conflicts_and_pictures_are_those_of_the_ttgir():
    (row,) = predicted(TTGIR)
    (made,) = conflict_tables(TTGIR, "", "k1")
    assert made.count("<tr>") == 2
    assert f'href="#k1-stock-{row.line}"' in made
    assert f"<td>{row.simulated}</td><td>{row.ideal}</td><td>none</td>" in made
    (group,) = picture_groups(TTGIR, "")
    assert group.count("<svg") == 2
    # What patches leave as it was is drawn once.
    assert len(list(picture_groups(TTGIR, TTGIR))) == 1
    _, patched = picture_groups(TTGIR, TTGIR.replace("[2, 2]", "[4, 1]"))
    assert patched.count("<svg") == 1


def test_what_is_not_known_of_a_layout_is_said():
    text = TTGIR.replace("#ttg.swizzled_shared<{", "#ttg.folded_shared<{")
    (group,) = picture_groups(text, "")
    assert "a is not drawn: " in group and group.count("<svg") == 1
    (group,) = picture_groups(TTGIR.replace("tt.dot", "ttng.tc_gen5_mma"), "")
    assert "%z is in Blackwell&#x27;s tensor memory" in group


def test_style_and_script_are_files_of_the_package():
    package = files("tile2triton.explaining.page")
    assert all(package.joinpath(name).is_file() for name in ("page.css", "page.js"))
    assert "</script" not in package.joinpath("page.js").read_text()


MACRO = """
import tile2triton.language as T

@T.macro
def doubled(c, rows, columns):
    for i, j in T.Parallel(rows, columns):
        c[i, j] = c[i, j] * 2.0
"""
KERNELS = """
import tile2triton
import tile2triton.language as T
from page_macro import doubled

@tile2triton.kernel(out_idx=[2])
def product(M=64, N=128, K=64):
    # </pre><script>alert("&")</script>
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, K), "float16")
            b = T.alloc_shared((K, N), "float16")
            c = T.alloc_fragment((M, N), "float32")
            T.copy(A, a)
            T.copy(B, b)
            # <script>alert("in")</script>
            T.clear(c)
            T.gemm(
                a, b, c,
                policy=T.GemmWarpPolicy.FullRow,
            )
            doubled(c, M, N)
            T.copy(c, C)

    return main

@tile2triton.kernel(out_idx=[1])
def tail(n=64):
    @T.prim_func
    def tail(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                C[i] = A[i] + 1.0

    return tail
"""


@pytest.fixture
def kernels(tmp_path):
    (tmp_path / "page_macro.py").write_text(MACRO)
    path = tmp_path / "page_kernels.py"
    path.write_text(KERNELS)
    return path


def test_the_program_is_all_around_what_kernels_are_made_of(kernels):
    (source,) = kernels_in(f"{kernels}:product").values()
    tree, facts = compiled("product", source, {}, "cuda:80").lowered_for("cuda:80")
    text = emit(tree, facts)
    pane = program_pane(origins(tree, text, facts.filename), text, facts.filename)
    assert [part.title for part in pane.parts] == ["page_kernels.py", "page_macro.py"]
    own, macro = (statements(replace(pane, parts=(part,))) for part in pane.parts)
    emitted = text.splitlines()
    (product,) = own["T.gemm("]
    assert own["policy=T.GemmWarpPolicy.FullRow,"] == (product,)
    assert "tl.dot(" in emitted[product - 1]
    (store,) = macro["c[i, j] = c[i, j] * 2.0"]
    assert emitted[store - 1].strip() == "c = c * 2.0"
    assert not any("def tail" in line for line in own)
    assert own["return main"] == ()


@pytest.mark.slow
@pytest.mark.compile
def test_a_page_shows_each_kernel_of_a_file(kernels, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["explain", str(kernels), "--target", "cuda:80", "--html", str(out)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"wrote {out}\n")
    page = Page(out.read_text())
    require_whole(page)
    names = ("program", "triton", "stock", "patched", "machine")
    assert list(page.panes) == [f"{key}-{name}" for key in ("k1", "k2") for name in names]
    # The product's statement is the same in all texts.
    (product,) = page.statements("k1-program", "T.gemm(")
    assert page.statements("k1-triton", "tl.dot(") == {product}
    assert page.statements("k1-stock", "tt.dot") == {product}
    assert page.statements("k1-patched", "tt.dot") == {product}
    assert page.statements("k1-machine", "mma.sync") == {product}
    texts = {name: [text for _, _, text in lines] for name, lines in page.panes.items()}
    assert any("warpsPerCTA = [4, 1], instrShape" in line for line in texts["k1-patched"])
    assert not any("warpsPerCTA = [4, 1], instrShape" in line for line in texts["k1-stock"])
    assert any('<script>alert("in")' in line for line in texts["k1-program"])
    assert texts["k2-patched"] == []
    assert str(tmp_path) not in out.read_text()


@pytest.mark.parametrize(
    ("subject", "out", "said"),
    [
        ("{folder}/page_kernels.py", "{folder}", "it is a folder; --html takes a file"),
        ("{folder}/page_kernels.py", "{folder}/no/page.html", "there is no folder"),
        ("reduce_max", "{folder}/page.html", "--html is for kernels"),
    ],
)
def test_a_page_that_cannot_be_written_is_an_error(kernels, subject, out, said, capsys):
    folder = kernels.parent
    given = [subject.format(folder=folder), "--html", out.format(folder=folder)]
    assert main(["explain", *given]) == 2
    assert said in capsys.readouterr().err
