"""The two statement nodes that Python's own tree lacks: a comment and a blank line."""

import ast


class Comment(ast.stmt):
    """A comment on a line of its own; `text` is without the leading `# `."""

    _fields = ("text",)
    text: str

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = text


class Blank(ast.stmt):
    """An empty line."""

    _fields = ()
