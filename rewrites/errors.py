"""What a rewrite or an operator's check reports: a problem at a node of the user's program."""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One problem; `found` lists what stands on each side, `hint` says what to type instead."""

    node: ast.AST
    code: str
    message: str
    found: tuple[str, ...] = ()
    hint: str = ""


class RewriteError(Exception):
    """Problems that stop a rewrite; rendered for the user by `tile2triton.diagnostics`."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def refuse(
    node: ast.AST, code: str, message: str, found: tuple[str, ...] = (), hint: str = ""
) -> RewriteError:
    """One problem as an error to raise."""
    return RewriteError(Problem(node, code, message, found, hint))
