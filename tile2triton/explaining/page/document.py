"""The whole page as one file, which loads nothing."""

from collections.abc import Sequence
from importlib.resources import files

from tile2triton.explaining.page.listings import listings, program_lines
from tile2triton.explaining.page.markup import Html, element, together
from tile2triton.explaining.page.pictures import picture_groups
from tile2triton.explaining.page.section import Section
from tile2triton.explaining.page.shared_memory import conflict_tables
from tile2triton.explaining.page.tables import fact_tables, link, patch_tables

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# What is said where scripts run: without them, lines are not connected.
_HELP = (
    "Point at a line, or press the arrow keys in a text: the lines of the other texts that belong "
    "to it are marked. A click or Enter brings them into view and keeps them marked until Escape."
)


def document(title: str, made: Sequence[Section]) -> str:
    """The text of the page, with a section for each kernel and target."""
    named = {f"k{number}": section for number, section in enumerate(made, 1)}
    entries = [element("li", link(_heading(one), key)) for key, one in named.items()]
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{title}: compiled kernels"),
        element("style", _resource("page.css")),
    )
    body = element(
        "body",
        element("header", element("h1", title), element("nav", element("ul", *entries))),
        element("main", *(_section(one, key) for key, one in named.items())),
        element("script", _resource("page.js")),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{together(head, body)}</html>\n'


def _section(section: Section, key: str) -> Html:
    one = section.explained
    heading = element("h2", _heading(section), id=f"{key}-title")
    if one.problem:
        facts: list[Html] = [element("pre", one.problem, class_="problem")]
    else:
        written = program_lines(section.panes[0], key)
        facts = [*fact_tables(one, key, written), *patch_tables(section.patches)]
        facts += conflict_tables(section.stock, section.patched, key)
    return element(
        "section",
        heading,
        element("h3", "What became of it"),
        element("div", *facts, class_="facts"),
        *picture_groups(section.stock, section.patched),
        element("h3", "From the program to the machine code"),
        element("p", _HELP, class_="help", hidden=True),
        element("p", Html("&nbsp;"), class_="related", role="status"),
        listings(section.panes, key),
        class_="kernel",
        id=key,
        aria_labelledby=f"{key}-title",
    )


def _heading(section: Section) -> str:
    one = section.explained
    name = section.name if section.name == one.kernel else f"{section.name}: {one.kernel}"
    return f"{name} for {one.target} ({one.label})"


def _resource(name: str) -> Html:
    return Html(files(__package__).joinpath(name).read_text(encoding="utf-8"))
