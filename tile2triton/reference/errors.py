"""What the reference meaning reports when a program does what no GPU would tell."""

import ast

from rewrites.facts import Facts


class ProgramError(Exception):
    """A mistake that a tile program made while it ran; `node` is where."""

    def __init__(self, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
        self.filename = "<kernel>"
        self.line = int(getattr(node, "lineno", 0))

    def locate(self, facts: Facts) -> None:
        """Say in which file the line is."""
        self.filename = str(vars(self.node).get("filename", facts.filename))

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}: {self.message}"


class OutOfBoundsError(ProgramError):
    """An index outside of a tile, or a constant one outside of a tensor: nothing would mask it."""


class WriteConflictError(ProgramError):
    """Two programs, or two iterations of T.Parallel, give one element different values."""


class UnsupportedError(ProgramError):
    """What has no meaning in a tile program, such as a T.gemm in a T.Parallel loop."""


class AssumptionFailedError(ProgramError):
    """A condition that T.assume stated does not hold."""


class DeadlockError(ProgramError):
    """A wait for a barrier that nothing before it satisfies, or an arrival that none expects."""
