"""`tile2triton passes`: the rewrites in order, and what each does."""

import inspect

from tile2triton.commands.kernels import UsageError, suggestion
from tile2triton.pipeline import PIPELINE


def passes(name: str | None) -> int:
    """List the passes in order, or print what one does."""
    if name is not None:
        texts = {one.name: one.doc for one in PIPELINE}
        if name not in texts:
            raise UsageError(f"there is no pass `{name}`{suggestion(name, texts)}")
        print(inspect.cleandoc(texts[name]))
        return 0
    width = max(len(one.name) for one in PIPELINE)
    for one in PIPELINE:
        print(f"{one.name:{width}}  {first_sentence(one.doc)}")
    return 0


def first_sentence(doc: str) -> str:
    paragraph = inspect.cleandoc(doc).partition("\n\n")[0]
    return " ".join(paragraph.split())
