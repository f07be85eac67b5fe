"""Set down what a rewrite leaves out of the tree."""

import ast

from rewrites.facts import Erasure, Facts


def set_down(facts: Facts, node: ast.AST, construct: str, reason: str) -> None:
    """Record an erasure once, however often the program is lowered."""
    filename = node.__dict__.get("filename", "")
    made = Erasure(construct, getattr(node, "lineno", 0), reason, filename)
    if made not in facts.erased:
        facts.erased.append(made)
