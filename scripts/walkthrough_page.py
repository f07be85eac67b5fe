"""The page that follows one program on whole operands through all its stages."""

import runpy
from pathlib import Path

import tile2triton.language as T
from tile2triton import transpile

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples/attention.py"
SHAPES = ((2, 8, 1024, 64), (2, 2, 1024, 64), (2, 2, 1024, 64))

STAGES = (
    (
        "trace",
        "What Python has executed: named extents, and one assignment for each name. The names of "
        "the extents have decided which dimension of K is contracted.",
    ),
    (
        "tile_operands",
        "Tiles. The softmax is a maximum, a sum of powers and a division. The division is a factor "
        "that does not depend on the column, and what was summed under an old maximum is rescaled "
        "to a new one, so that one loop over tiles of K and V computes all of it. The mask says "
        "which tiles need it, and which need not be computed. From here on a person can go on by "
        "hand.",
    ),
    ("lower_program", "Triton's statements in the place of operators and loops."),
)


def page(made: str) -> str:
    """The example, the program after some of the passes, and the Triton."""
    source = EXAMPLE.read_text()
    start = source.index("@tile2triton.kernel")
    program = source[start : source.index('if __name__ == "__main__"')].rstrip()
    attention = runpy.run_path(str(EXAMPLE))["attention"]
    operands = [T.Tensor(shape, "float16") for shape in SHAPES]
    kernel = transpile(attention, *operands, target="cuda:90")
    lines = [
        "# One program through all its stages",
        "",
        made,
        "",
        "[examples/attention.py](../examples/attention.py):",
        "",
        *block(program),
        "",
        "For float16 operands of shapes "
        + ", ".join(str(shape) for shape in SHAPES)
        + " on an H100:",
    ]
    for name, words in STAGES:
        lines += ["", f"## After `{name}`", "", words, "", *block(kernel.after(name).strip())]
    module = kernel.triton_source
    text = module[module.index("@gluon.jit") : module.index("# The constants of")].rstrip()
    words = "In [Gluon](gluon.md): two or three programs of the grid share a producer."
    lines += ["", "## The emitted kernel", "", words, "", *block(text)]
    return "\n".join(lines) + "\n"


def block(text: str) -> list[str]:
    return ["```python", text, "```"]
