"""What the instrumented code calls: each method is one statement or lazy expression of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tile2triton.frontend.blocks import Choice, loop_turns, while_turns
from tile2triton.frontend.builder import size_dtype
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.declarations import Tensor
from tile2triton.frontend.dtypes import DType, is_dtype
from tile2triton.frontend.dynamic import Dynamic, dtype_of, is_scalar
from tile2triton.frontend.expressions import Expressions
from tile2triton.frontend.failures import failure
from tile2triton.frontend.jumps import record_jump
from tile2triton.frontend.loops import KernelFrame, Loop, wanted_names
from tile2triton.frontend.made_tiles import named_tiles
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.native import truth
from tile2triton.frontend.nests import Grid
from tile2triton.frontend.operators import call
from tile2triton.frontend.persistent import Persistent, persistent_turns
from tile2triton.frontend.statics import named
from tile2triton.frontend.stores import (
    combined,
    is_changing,
    store_element,
    store_variable,
)
from tile2triton.frontend.tile_loops import operand_turns
from tile2triton.frontend.tile_stores import store_part, update, update_part
from tile2triton.frontend.tile_values import is_tile
from tile2triton.frontend.together import as_named
from tile2triton.frontend.values import Buffer, Element, Pending, TilePart, Variable
from tile2triton.frontend.whole_operands import WholeOperand, bound_operand


class _Key:
    """`key[a:b, c]` is the index itself."""

    def __getitem__(self, index: Any) -> Any:
        return index


@dataclass
class Tracer(Expressions):
    """One running function of the user's: the kernel or a macro."""

    # Parameters of an eager kernel that a declaration turns into tensors and scalars.
    declare_parameter: Callable[[str, Any], Any] | None = None
    _said: set[tuple[str | None, ...]] = field(default_factory=set)

    key = _Key()

    # Comments.

    def remark(self, tokens: tuple[str | None, ...]) -> None:
        """Comments (and blank lines, as None) in front of what comes next."""
        if any(tokens):
            # A loop that Python unrolls says it once.
            if tokens in self._said:
                return
            self._said.add(tokens)
        for at, token in enumerate(tokens):
            if token is None:
                self.builder.blank(above=at == 0)
            else:
                self.builder.comment(token)

    # Assignments.

    def assign(self, name: str, value: Any) -> Any:
        """`name = value`: a store to a variable, a let, or a name for Python's own value."""
        if isinstance(value, Dead):
            value.refuse()
        if isinstance(value, WholeOperand):
            return self.scope.bind(name, self._named_operand(name, value))
        old = self.scope.value(name)
        if name in self.scope.references and isinstance(old, Element):
            store_element(self.builder, old, value)
            return old
        if isinstance(old, Variable) and not _is_fresh(value) and is_scalar(value):
            store_variable(self.builder, old, value)
            return old
        self.scope.refuse_carried(name)
        return self.scope.bind(name, self._named(name, named_tiles(name, value)))

    def _named_operand(self, name: str, value: WholeOperand) -> WholeOperand:
        """A whole operand under its name; what has one keeps it."""
        if isinstance(value.tree, ast.Name):
            return value
        return bound_operand(name, value)

    def _named(self, name: str, value: Any) -> Any:
        naming = naming_of(value)
        if naming is not None:
            if naming.is_open:
                naming.settle(name)
                if isinstance(value, Variable):
                    value.home = self.scope
                return value
            if not isinstance(value, Variable):
                return value
            if value.is_handed_over:
                value.is_handed_over = False
                return value
        if isinstance(value, (list, tuple)):
            for at, item in enumerate(value):
                inner = naming_of(item)
                if inner is not None and inner.is_open:
                    inner.settle(f"{name}_{at}")
            return value
        if isinstance(value, Element) and not value.is_element:
            return value
        if isinstance(value, Dynamic):
            return self.let(name, value)
        return named(name, value)

    def let(self, name: str, value: Dynamic) -> Dynamic:
        """`name = expression`, evaluated here; what cannot change needs no second name."""
        tree = value.tree
        builder = self.builder
        if isinstance(tree, ast.Name) and (
            tree.id in builder.immutable or size_dtype(tree) is not None
        ):
            return value
        if builder.block is builder.root and not is_changing(tree, builder.facts.variables):
            # Above T.Kernel there are only sizes: what is computed from them moves to its use.
            return value
        statement = ast.Assign([ast.Name("", ast.Store())], tree)
        statement.type_comment = None
        settled = self.builder.record(statement)
        assert isinstance(settled, ast.Assign)
        target = settled.targets[0]
        assert isinstance(target, ast.Name)
        target.id = self.builder.bind(name)
        return Dynamic(ast.Name(target.id, ast.Load()), dtype_of(value))

    def parameter(self, name: str, value: Any, is_reference: bool) -> Any:
        """A macro's parameter: scalars are passed by value, buffers and regions as they are."""
        if isinstance(value, WholeOperand):
            value = self._named_operand(name, value)
        elif is_reference:
            self.scope.references.add(name)
        elif isinstance(value, Dynamic) and not (
            isinstance(value, Element) and not value.is_element
        ):
            value = self.let(name, value)
        elif _is_fresh(value):
            value = self._named(name, value)
        return self.scope.bind(name, named_tiles(name, value))

    def typed(self, name: str, annotation: Callable[[], Any], value: Any) -> Any:
        """`name: T.int32 = value` casts; any other annotation says nothing to a kernel."""
        try:
            dtype = annotation()
        except NameError:
            dtype = None
        if is_dtype(dtype) and is_scalar(value) and dtype_of(value) != str(DType(dtype)):
            value = call("cast", (value, dtype), {})
        return self.assign(name, value)

    def declare(self, name: str, annotation: Callable[[], Any]) -> Any:
        """`name: T.Tensor(...)`: a parameter of an eager kernel."""
        said = annotation()
        if self.declare_parameter is not None:
            value = self.declare_parameter(name, said)
            if value is not None:
                return self.scope.bind(name, value)
        if isinstance(said, Tensor):
            raise failure(
                "T2T164",
                f"`{name}` is declared as a tensor, but it is no parameter of the kernel",
                hint=f"add `{name}` to the parameters, or allocate it: {name} = T.empty(...)",
            )
        return self.current(name)

    def augment(self, name: str, old: Any, operation: str, value: Any) -> Any:
        """`name += value`."""
        if isinstance(old, (Buffer, TilePart)) and is_tile(old):
            update(old, operation, value)
            return old
        return self.assign(name, combined(old, operation, value))

    def store(self, base: Any, index: Any, value: Any) -> None:
        """`base[index] = value`."""
        if isinstance(base, (Buffer, Element)):
            store_part(self.builder, base[index], value)
        else:
            base[index] = named_tiles("item", value)

    def augment_item(self, base: Any, index: Any, operation: str, value: Any) -> None:
        """`base[index] += value`."""
        if isinstance(base, (Buffer, Element)):
            update_part(self.builder, base[index], operation, value)
            return
        old = base[index]
        if isinstance(old, (Buffer, TilePart)) and is_tile(old):
            update(old, operation, value)
            return
        if any(block.kind in ("loop", "parallel", "branch") for block in self.builder.blocks):
            raise failure(
                "T2T121",
                f"what Python keeps at {index!r} is recorded once, and would not change while the "
                "kernel runs",
                hint="keep a tile or a variable there: T.copy(x), or T.alloc_var(dtype, init=...)",
            )
        base[index] = combined(old, operation, value)

    def set_attribute(self, owner: Any, attribute: str, value: Any) -> None:
        """`owner.attribute = value`: an object that lives while the kernel is traced."""
        old = owner.__dict__.get(attribute) if hasattr(owner, "__dict__") else None
        if isinstance(old, Variable) and not _is_fresh(value) and is_scalar(value):
            store_variable(self.builder, old, value)
        else:
            setattr(owner, attribute, self._named(attribute, named_tiles(attribute, value)))

    def augment_attribute(self, owner: Any, attribute: str, operation: str, value: Any) -> None:
        """`owner.attribute += value`."""
        self.set_attribute(owner, attribute, combined(getattr(owner, attribute), operation, value))

    def evaluated(self, targets: tuple[str | None, ...], *values: Any) -> tuple[Any, ...]:
        """The values of a tuple assignment, fixed before the first of its stores happens."""
        is_store = [
            name is None or isinstance(self.scope.value(name), Variable) for name in targets
        ]
        if not any(is_store) or len(values) < 2:
            return values
        names = [name or "element" for name in targets]
        return tuple(
            self.let(f"{name}_next", value)
            if isinstance(value, Dynamic)
            and not _is_fresh(value)
            and is_changing(value.tree, self.builder.facts.variables)
            else value
            for name, value in zip(names, values, strict=True)
        )

    def note(self, name: str, value: Any) -> None:
        """A name that Python itself assigned."""
        self.scope.bind(name, value)

    def current(self, name: str) -> Any:
        """What a name is outside of the blocks that just ended."""
        return self.scope.current(name)

    # Blocks.

    def branch(self, test: Any, names: tuple[str, ...]) -> Choice:
        """`if test:`; a static test is decided here, and what decided it is noted."""
        if not isinstance(test, Dynamic):
            self.set_down(names)
            return Choice(self.builder, self.scope, truth(test), None)
        return Choice(self.builder, self.scope, None, test)

    def for_(self, iterable: Any, targets: Any, carried: tuple[str, ...]) -> Iterator[Any]:
        """`for targets in iterable:`; what is no loop of the language is run by Python."""
        if isinstance(iterable, range):
            bounds = (iterable.start, iterable.stop, iterable.step)
            keys = ("start", "stop", "step")[: 3 if iterable.step != 1 else 2]
            given = dict(zip(keys, bounds, strict=False))
            iterable = Loop(
                "serial", given if iterable.start or len(keys) == 3 else {"start": bounds[1]}
            )
        if isinstance(iterable, Loop) and self.builder.takes_operands:
            return operand_turns(self.builder, self.scope, iterable, carried)
        if isinstance(iterable, Loop):
            return loop_turns(self.builder, iterable, targets, carried)
        if isinstance(iterable, Grid):
            return self._grid(iterable, targets, carried)
        if isinstance(iterable, Persistent):
            return persistent_turns(self, iterable, targets, carried)
        return self.scope.python_turns(iterable)

    def _grid(self, grid: Grid, targets: Any, carried: tuple[str, ...]) -> Iterator[Any]:
        """The turns of a nest of loops, whose variables come as one tuple."""
        names = wanted_names(targets, len(grid.extents), ("i", "j", "k", "l"), "T.grid")

        def turns(values: tuple[Any, ...]) -> Iterator[Any]:
            depth = len(values)
            if depth == len(names):
                yield as_named(values, targets)
                return
            loop = Loop("serial", {"start": grid.extents[depth]})
            for value in loop_turns(self.builder, loop, names[depth], carried):
                yield from turns((*values, value))

        return turns(())

    def while_(self, test: Callable[[], Any], carried: tuple[str, ...]) -> Iterator[None]:
        """`while test:`."""
        return while_turns(self.builder, self.scope, test, carried)

    def with_(self, context: Any, targets: Any) -> Any:
        """`with context as targets:`; contexts that are not the language's are Python's own."""
        return context.opened(targets) if isinstance(context, KernelFrame) else context

    def leave(self, word: str) -> bool:
        """`break`, `continue` or `return`: whether Python does it, rather than the kernel."""
        if word == "return":
            if self.scope.is_macro or self.builder.kernel is None:
                self.returned(None)
                return True
        elif self.scope.is_in_tiles():
            raise failure(
                "T2T853",
                f"`{word}` stands in a loop over tiles, which are all done alike",
                hint="what is left out is said of elements: T.where(i + T.arange(tile_size) < n, "
                "x, 0)",
            )
        elif self.scope.leaves_python_loop(word):
            return True
        record_jump(self.builder, word)
        return False

    def returned(self, value: Any) -> Any:
        """`return value`."""
        if self.builder.block is not self.scope.home:
            raise failure(
                "T2T166",
                "`return` stands inside a block that is decided or repeated at run time",
                hint="return at the end of the function",
            )
        if isinstance(value, Variable) and value.home is self.scope:
            value.is_handed_over = True
        return value


def naming_of(value: Any) -> Naming | None:
    """The naming of what is allocated or pending; None for other values."""
    if isinstance(value, (Buffer, Variable, Pending)):
        return value.naming
    return None


def _is_fresh(value: Any) -> bool:
    """Whether the value is an allocation that no name stands for yet."""
    naming = naming_of(value)
    if isinstance(value, Variable) and value.is_handed_over:
        return True
    return naming is not None and naming.is_open
