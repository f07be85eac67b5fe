"""Random macros at the head of a module, and calls of them."""

from tests.fuzz.control import scalars
from tests.fuzz.elements import VARIABLES
from tests.fuzz.exact import Value, stored
from tests.fuzz.expressions import Expressions
from tests.fuzz.writer import TileName, Writer


def call(w: Writer) -> bool:
    """A macro that changes a tile by another of its shape, a number and perhaps itself."""
    pairs = [
        (target, source)
        for source in w.readable_tiles()
        for target in w.tiles
        if source.dims and source.dims == target.dims and source is not target
        if not target.is_rough and target.dtype != "bool" and source.dtype != "bool"
    ]
    if not pairs:
        return False
    target, source = w.random.choice(pairs)
    given = scalars(w).value(1)
    if given.dtype == "bool":
        given = Value("3", "int32", 3)
    name = w.fresh("m")
    by = Value("by", given.dtype, given.bound, given.grain)
    keeps = target.name in w.ready
    _macro(w, name, target, source, by, keeps)
    argument = f"by={given.text}" if w.random.random() < 0.3 else given.text
    w.add(f"{name}({target.name}, {source.name}, {argument})")
    w.ready.add(target.name)
    return True


def _macro(
    w: Writer, name: str, target: TileName, source: TileName, by: Value, keeps: bool
) -> None:
    names = VARIABLES[: len(target.dims)]
    place = ", ".join(names)
    counters = [Value(n, "int32", d.block) for n, d in zip(names, target.dims, strict=True)]
    leaves = [source.value(f"source[{place}]"), by, *counters]
    if keeps:
        leaves.append(target.value(f"target[{place}]"))
    make = Expressions(w.random, lambda: w.random.choice(leaves))
    extents = ", ".join(d.block_name for d in target.dims)
    lines = ["@T.macro", f"def {name}(target, source, by):"]
    if w.random.random() < 0.3:
        lines += ["    by = by + 0"]
    lines += [f"    for {place} in T.Parallel({extents}):"]
    value = stored(make.value(2), target.dtype, target.limits).text
    if keeps and w.random.random() < 0.4:
        lines += [f"        if {make.condition(1)}:", f"            target[{place}] = {value}"]
    else:
        lines += [f"        target[{place}] = {value}"]
    w.macros += [*lines, "", ""]
