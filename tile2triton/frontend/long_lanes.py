"""T.Parallel over an extent that is known at run time only: as many lanes at a time as threads.

for i in T.Parallel(n):         for i_block in T.serial(T.ceildiv(n, 128)):
    C[i] = A[i] + 1.0               for i_lane in T.Parallel(128):
                                        if i_block * 128 + i_lane < n:
                                            C[i_block * 128 + i_lane] = ...
"""

from __future__ import annotations

import ast

from rewrites.quote import expr, place, stmts, substituted
from tile2triton.frontend.builder import Block, Builder
from tile2triton.ops.regions import static_value

# As many lanes as a program has threads where T.Kernel does not say how many.
LANES = 128


def in_blocks(loop: ast.For, parent: Block, builder: Builder) -> None:
    """Run the lanes of a loop in blocks along the extents that are not known yet."""
    if any(block.kind == "parallel" for block in builder.blocks):
        return
    assert isinstance(loop.iter, ast.Call)
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    threads = builder.kernel.threads if builder.kernel is not None else None
    lanes = threads if threads and threads & (threads - 1) == 0 else LANES
    outer: list[tuple[str, ast.expr]] = []
    guards: list[ast.expr] = []
    for at, (target, extent) in enumerate(zip(targets, loop.iter.args, strict=True)):
        if static_value(extent, builder.facts) is not None:
            continue
        assert isinstance(target, ast.Name)
        variable, length = target.id, _kept(extent, parent, loop, builder)
        block, lane = builder.bind(f"{variable}_block"), builder.bind(f"{variable}_lane")
        index = expr(
            "block * lanes + lane",
            block=ast.Name(block, ast.Load()),
            lanes=ast.Constant(lanes),
            lane=ast.Name(lane, ast.Load()),
        )
        loop.body = [substituted(one, {variable: index}) for one in loop.body]
        guards.append(expr("index < length", index=index, length=length))
        outer.append((block, expr("T.ceildiv(n, lanes)", n=length, lanes=ast.Constant(lanes))))
        loop.iter.args[at] = ast.copy_location(ast.Constant(lanes), extent)
        targets[at] = ast.copy_location(ast.Name(lane, ast.Store()), target)
    if not outer:
        return
    loop.target = ast.Tuple(targets, ast.Store()) if len(targets) > 1 else targets[0]
    test = guards[0] if len(guards) == 1 else ast.BoolOp(ast.And(), guards)
    loop.body = [place(ast.If(test, loop.body, []), loop)]
    made: ast.stmt = loop
    for block, count in reversed(outer):
        (serial,) = stmts("for block in T.serial(count): pass", block=block, count=count)
        assert isinstance(serial, ast.For)
        serial.body = [made]
        made = place(serial, loop)
    parent.body[parent.body.index(loop)] = made


def _kept(extent: ast.expr, parent: Block, loop: ast.For, builder: Builder) -> ast.expr:
    """The extent by a name that no statement of the loop changes."""
    if isinstance(extent, ast.Name) and extent.id not in builder.facts.variables:
        return extent
    name = builder.bind("length")
    (let,) = stmts("name = extent", name=name, extent=extent)
    parent.body.insert(parent.body.index(loop), place(let, loop))
    return ast.Name(name, ast.Load())
