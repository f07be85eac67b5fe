"""Random loops, branches and scalar variables."""

from collections.abc import Callable

from tests.fuzz.elements import tensor_value
from tests.fuzz.exact import Value, stored
from tests.fuzz.expressions import Expressions
from tests.fuzz.writer import Writer

Block = Callable[[Writer, int], None]


def scalar_leaf(w: Writer) -> Value | None:
    """What a scalar statement can read."""
    known = [*w.scalars, *w.variables, *w.counters]
    known += [Value(d.grid, "int32", d.blocks) for d in w.grid_dims()]
    tensors = [
        t
        for t in w.tensors
        if t.role in ("input", "output") and t.name not in w.written and not t.is_large
    ]
    if tensors and w.random.random() < 0.3:
        tensor = w.random.choice(tensors)
        index = []
        for axis in tensor.axes:
            if axis.dim is not None and axis.dim.grid:
                index.append(axis.dim.grid)
            else:
                index.append("0")
        return tensor_value(tensor, f"{tensor.name}[{', '.join(index)}]")
    units = [t for t in w.readable_tiles() if all(d.block == 1 for d in t.dims)]
    if units and w.random.random() < 0.3:
        tile = w.random.choice(units)
        return tile.value(f"{tile.name}[{', '.join('0' for _ in tile.dims) or '0'}]")
    return w.random.choice(known) if known else None


def scalars(w: Writer) -> Expressions:
    return Expressions(w.random, lambda: scalar_leaf(w))


def variable(w: Writer) -> bool:
    """A new variable, or a store to one."""
    if not w.variables or w.random.random() < 0.4:
        name = w.fresh("v")
        dtype = w.random.choice(["int32", "int32", "float32", "int64"])
        start = w.random.choice(["", ", 3", ", init=2"])
        w.add(f'{name} = T.alloc_var("{dtype}"{start})')
        bound, grain = (2**8, 2) if dtype == "float32" else (2**31, 0)
        w.variables.append(Value(name, dtype, bound, grain))
        return True
    target = w.random.choice(w.variables)
    value = stored(scalars(w).value(2), target.dtype)
    if not target.is_float and w.random.random() < 0.4:
        operand = w.random.choice(["1", "2", "bx"] if w.grid_dims() else ["1", "2"])
        w.add(f"{target.text} {w.random.choice(['+=', '-='])} {operand}")
        return True
    w.add(f"{target.text} = {value.text}")
    return True


def loop(w: Writer, block: Block) -> bool:
    """A loop over the blocks of a dimension, or over a few numbers."""
    waiting = [d for d in w.dims.values() if not d.grid and d.letter not in w.offsets]
    counter = w.fresh("k")
    if waiting and w.random.random() < 0.6:
        dim = w.random.choice(waiting)
        count = f"T.ceildiv({dim.letter}, {dim.block_name})"
        header = w.random.choice(
            [
                f"T.Pipelined({count}, num_stages={w.random.randint(0, 3)})",
                f"T.serial({count})",
                f"range({count})",
            ]
        )
        trips, bound = dim.blocks, dim.blocks
    else:
        dim = None
        header, trips, bound = w.random.choice(
            [
                ("T.serial(3)", 3, 2),
                ("range(1, 6, 2)", 3, 5),
                ("T.unroll(2)", 2, 1),
                ("T.serial(2, 0, -1)", 2, 2),
                ("T.Pipelined(2, num_stages=2)", 2, 1),
                *[(f"T.serial({v.text})", 4, 4) for v in w.scalars if v.bound <= 4],
                ("T.serial(bx, bx + 2)", 2, 30) if w.grid_dims() else ("T.serial(1)", 1, 0),
            ]
        )
    w.add(f"for {counter} in {header}:")
    with w.indented():
        w.runs *= max(1, trips)
        w.jumps = ("break", "continue")
        w.counters.append(Value(counter, "int32", bound))
        if dim is not None:
            w.offsets[dim.letter] = counter if dim.block == 1 else f"{counter} * {dim.block_name}"
        block(w, w.random.randint(1, 3))
    return True


def branch(w: Writer, block: Block) -> bool:
    w.add(f"if {scalars(w).condition(1)}:")
    with w.indented():
        block(w, w.random.randint(1, 2))
    if w.random.random() < 0.4:
        w.add("else:")
        with w.indented():
            block(w, w.random.randint(1, 2))
    return True


def repeat(w: Writer, block: Block) -> bool:
    """A `while` that a variable of its own ends."""
    name = w.fresh("n")
    w.add(f'{name} = T.alloc_var("int32")')
    step = w.random.randint(1, 2)
    w.add(f"while {name} < {w.random.randint(1, 4)}:")
    with w.indented():
        w.runs *= 4
        w.counters.append(Value(name, "int32", 8))
        first = w.random.random() < 0.3
        w.jumps = ("break", "continue") if first else ("break",)
        if first:
            w.add(f"{name} += {step}")
        block(w, w.random.randint(1, 2))
        if not first:
            w.add(f"{name} = {name} + {step}")
    return True


def jump(w: Writer) -> bool:
    """A condition under which a loop, a turn of it or the program ends."""
    kinds = [*w.jumps * 6, "return"]
    if len(kinds) == 1 and w.random.random() < 0.8:
        return False
    w.add(f"if {scalars(w).condition(1)}:")
    w.add(f"    {w.random.choice(kinds)}")
    return True
