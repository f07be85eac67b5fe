"""`tilelang.tools.Analyzer`: what a kernel computes and moves, counted in its tile program."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

import tile2triton.language as T
from rewrites.facts import Facts, Program
from tile2triton.diagnostics import TileError, at_node
from tile2triton.frontend.prim_func import PrimFunc

LOOPS = ("serial", "Pipelined", "unroll", "Parallel", "Persistent")


@dataclass(frozen=True)
class AnalysisResult:
    """Operations of products, bytes to and from global memory, and how long they must take."""

    total_flops: int
    total_global_bytes: int
    estimated_time: float
    expected_tflops: float | None
    expected_bandwidth_GBps: float


class Analyzer:
    """Counts for one function. Sizes must be known: it cannot count what a launch decides."""

    def __init__(self, fn: PrimFunc, device: Any) -> None:
        self.program = fn.program()
        self.device = device

    @classmethod
    def analysis(cls, fn: PrimFunc, device: Any) -> AnalysisResult:
        """What the function computes and moves on a device."""
        return cls(fn, device).calculate()

    def calculate(self) -> AnalysisResult:
        """The counts, and the time that moving the data takes at the least."""
        counter = _Counter(self.program)
        bandwidth = self.device.bandwidth[1] / 1000
        seconds = counter.moved / (bandwidth * 1e9)
        return AnalysisResult(counter.flops, counter.moved, seconds, None, bandwidth)


class _Counter(ast.NodeVisitor):
    def __init__(self, program: Program) -> None:
        self.facts: Facts = program.facts
        self.times = 1
        self.flops = 0
        self.moved = 0
        self.visit(program.tree)

    def visit_With(self, node: ast.With) -> None:
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call), "a kernel is opened by a call"
        self._repeated(node.body, math.prod(self._value(extent) for extent in call.args))

    def visit_For(self, node: ast.For) -> None:
        call = node.iter
        assert isinstance(call, ast.Call), "loops of tile programs are calls"
        bounds = [self._value(bound) for bound in call.args]
        name = ast.unparse(call.func).removeprefix("T.")
        if name == "Parallel":
            turns = math.prod(bounds)
        elif name in LOOPS:
            turns = len(range(*bounds))
        else:
            raise self._unknown(node, f"how often `{ast.unparse(call)}` repeats its body")
        self._repeated(node.body, turns)

    def visit_While(self, node: ast.While) -> None:
        raise self._unknown(node, "how often a `while` repeats its body")

    def visit_Call(self, node: ast.Call) -> None:
        match ast.unparse(node.func):
            case "T.gemm":
                left, _, total = node.args[:3]
                options = {one.arg: ast.unparse(one.value) for one in node.keywords}
                axis = -2 if options.get("transpose_A") == "True" else -1
                inner = self._extents(left)[axis]
                self.flops += 2 * self.times * math.prod(self._extents(total)) * inner
            case "T.copy":
                tensors = [one for one in node.args if self._name(one) in self.facts.tensors]
                tiles = [one for one in node.args if self._name(one) in self.facts.tiles]
                if tensors:
                    count = math.prod(self._extents((tiles or tensors)[0]))
                    bits = T.dtype(self.facts.tensors[self._name(tensors[0])].dtype).bits
                    self.moved += self.times * count * bits // 8

    def _repeated(self, body: list[ast.stmt], turns: int) -> None:
        before, self.times = self.times, self.times * turns
        for statement in body:
            self.visit(statement)
        self.times = before

    def _name(self, region: ast.expr) -> str:
        root = region.value if isinstance(region, ast.Subscript) else region
        return root.id if isinstance(root, ast.Name) else ""

    def _extents(self, region: ast.expr) -> list[int]:
        """The extents of a tile, or of the part of it that is taken."""
        name = self._name(region)
        tile = self.facts.tiles.get(name)
        shape = (
            list(tile.shape)
            if tile is not None
            else [self._value(one) for one in self.facts.tensors[name].shape]
        )
        if not isinstance(region, ast.Subscript):
            return shape
        keys = region.slice.elts if isinstance(region.slice, ast.Tuple) else [region.slice]
        taken = []
        for key, extent in zip(keys, shape, strict=False):
            if isinstance(key, ast.Slice):
                low = self._value(key.lower) if key.lower else 0
                taken.append((self._value(key.upper) if key.upper else extent) - low)
        return taken + shape[len(keys) :]

    def _value(self, tree: ast.expr) -> int:
        code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<size>", "eval")
        try:
            return int(eval(code, {"T": T, "__builtins__": {}}, dict(self.facts.constants)))
        except (NameError, TypeError):
            raise self._unknown(tree, f"`{ast.unparse(tree)}`") from None

    def _unknown(self, node: ast.AST, what: str) -> TileError:
        return TileError(
            at_node(
                node,
                self.facts.filename,
                "T2T509",
                f"{what} is known at the launch only, so the kernel cannot be analyzed",
                hint="give all sizes as numbers",
            )
        )
