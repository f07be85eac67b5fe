"""`with T.ws(...)`: statements that some of the threads run."""

from __future__ import annotations

import ast

from tile2triton.frontend.builder import Block, Builder
from tile2triton.frontend.failures import failure


class RoleFrame:
    """A context that records its body under the call that says who runs it."""

    def __init__(self, builder: Builder, call: ast.Call) -> None:
        self.builder = builder
        self.call = call

    def __enter__(self) -> None:
        builder = self.builder
        if builder.block is builder.root:
            raise failure(
                "T2T173",
                "this stands outside of `with T.Kernel`",
                hint="move it into the body of T.Kernel",
            )
        block = Block("branch")
        statement = ast.With([ast.withitem(self.call, None)], [])
        statement.type_comment = None
        settled = builder.record(statement)
        assert isinstance(settled, ast.With)
        self.parent, self.block, self.statement = builder.block, block, settled
        builder.open(block)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is not None:
            return
        self.builder.close()
        self.statement.body = self.block.body
        if not self.block.body:
            self.parent.body.remove(self.statement)
