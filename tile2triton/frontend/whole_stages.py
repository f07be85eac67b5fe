"""`with T.Pipelined(num_stages=n):` around statements of a program on whole operands."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import plain


class PipelinedFrame:
    """The statements in it are computed by loops of so many stages."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        stages = plain(options.get("num_stages"))
        if set(options) != {"num_stages"} or type(stages) is not int or stages < 1:
            raise failure(
                "T2T860",
                "T.Pipelined around statements on whole operands says how many stages its loops "
                "have",
                hint="write `with T.Pipelined(num_stages=3):`",
            )
        self.stages = stages
        self.builder = require("T.Pipelined")
        self.position = here()

    def __enter__(self) -> None:
        self.builder.flush()
        self.block = self.builder.block
        self.first = len(self.block.body)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is not None:
            return
        self.builder.flush()
        body = self.block.body[self.first :]
        if not body:
            return
        del self.block.body[self.first :]
        call = ast.Call(
            ast.Attribute(ast.Name("T", ast.Load()), "Pipelined", ast.Load()),
            [],
            [ast.keyword("num_stages", ast.Constant(self.stages))],
        )
        statement = ast.With([ast.withitem(call)], [])
        statement.type_comment = None
        recorded = self.builder.record(statement, self.position)
        assert isinstance(recorded, ast.With)
        recorded.body = body
