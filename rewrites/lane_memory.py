"""Where the threads' own variables and arrays are once the threads are lanes of T.Parallel."""

import ast
import math

from rewrites.environment import Names
from rewrites.facts import Facts, Tile
from rewrites.quote import stmts
from rewrites.threads import Threads
from rewrites.tree import base_name, names_in, walk
from rewrites.varying import local_arrays
from rewrites.wide import wide_operands


class LaneMemory:
    """Gives each varying variable and array a place, when all loops over lanes are made."""

    def __init__(
        self, threads: Threads, varying: set[str], lane: str, names: Names, facts: Facts
    ) -> None:
        self.threads = threads
        self.varying = varying
        self.lane = lane
        self.names = names
        self.facts = facts
        self.loops: list[ast.For] = []

    def note(self, loop: ast.For) -> None:
        """A loop over the lanes."""
        self.loops.append(loop)

    def settle(self, kernel: ast.With) -> None:
        """Rewrite the declarations and uses of what each thread has for itself."""
        arrays = {name for name, _ in local_arrays(kernel.body)} & self.varying
        variables = self.varying & self.facts.variables.keys()
        for name in sorted(arrays | variables):
            users = [loop for loop in self.loops if name in names_in(loop)]
            is_single = math.prod(self.facts.tiles[name].shape) == 1 if name in arrays else True
            if is_single and len(users) == 1 and not self._is_in_loop(kernel, users[0]):
                self._into_loop(kernel, name, users[0])
            else:
                self._as_tile(kernel, name)

    def _is_in_loop(self, kernel: ast.With, loop: ast.For) -> bool:
        """Whether a loop around would have the variable keep its value from turn to turn."""
        return any(
            isinstance(node, (ast.For, ast.While)) and node is not loop and loop in walk(node)
            for node in walk(kernel)
        )

    def _into_loop(self, kernel: ast.With, name: str, loop: ast.For) -> None:
        """The declaration moves into the one loop that uses it."""
        variable, init = name, None
        tile = self.facts.tiles.get(name)
        if tile is not None:
            variable = self.names.fresh(f"{name}_lane")
            self.facts.variables[variable] = tile.dtype
            _Single(name, variable).visit(loop)
        declaration = _taken(kernel, name)
        if tile is not None:
            dtype: ast.expr = ast.Constant(tile.dtype)
        else:
            assert isinstance(declaration, ast.Assign)
            assert isinstance(declaration.value, ast.Call)
            dtype = declaration.value.args[0]
            init = declaration.value.args[1] if len(declaration.value.args) > 1 else None
            words = [word.value for word in declaration.value.keywords if word.arg == "init"]
            init = words[0] if words else init
        (made,) = stmts("variable = T.alloc_var(dtype)", variable=variable, dtype=dtype)
        assert isinstance(made, ast.Assign) and isinstance(made.value, ast.Call)
        if init is not None:
            made.value.args.append(init)
        loop.body.insert(0, _placed(made, declaration))

    def _has_neighbours(self, name: str) -> bool:
        """Whether an operator takes more elements of the array than the one that is its operand."""
        return any(
            base_name(operand) == name
            for loop in self.loops
            for operand in wide_operands(loop, self.facts)
        )

    def _as_tile(self, kernel: ast.With, name: str) -> None:
        """A fragment with one element, or one array, for each thread."""
        count = self.threads.count
        tile = self.facts.tiles.get(name)
        dtype = self.facts.variables[name] if tile is None else tile.dtype
        shape = () if tile is None or tile.shape == (1,) else tile.shape
        trees = () if tile is None or not shape else tile.trees
        made = self.names.fresh(f"{name}_lanes")
        extents: tuple[ast.expr, ...] = (*trees, ast.Constant(count))
        sizes = (*shape, count)
        # Neighbours are those of the last dimension.
        lane_first = self._has_neighbours(name)
        if lane_first:
            extents, sizes = (extents[-1], *trees), (count, *shape)
        self.facts.tiles[made] = Tile(made, sizes, extents, dtype, "fragment")
        declaration = _taken(kernel, name, keep=True)
        uses = _Lanes(name, made, self.lane, bool(shape), lane_first)
        for loop in self.loops:
            uses.visit(loop)
        (fresh,) = stmts(
            "made = T.alloc_fragment(shape, dtype)",
            made=made,
            shape=ast.Tuple(list(extents), ast.Load()),
            dtype=ast.Constant(dtype),
        )
        result: list[ast.stmt] = [_placed(fresh, declaration)]
        if tile is None:
            assert isinstance(declaration, ast.Assign) and isinstance(declaration.value, ast.Call)
            words = [word.value for word in declaration.value.keywords if word.arg == "init"]
            given = [*declaration.value.args[1:], *words]
            (first,) = stmts(
                "T.fill(made, value)", made=made, value=given[0] if given else ast.Constant(0)
            )
            result.append(_placed(first, declaration))
        _replace(kernel, declaration, result)


class _Single(ast.NodeTransformer):
    """`x[0]` of an array of one element becomes a variable."""

    def __init__(self, name: str, variable: str) -> None:
        self.name = name
        self.variable = variable

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self.name:
            return ast.copy_location(ast.Name(self.variable, node.ctx), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Variables have no `+=` in the canonical form."""
        node = self.generic_visit(node)  # type: ignore[assignment]
        if isinstance(node.target, ast.Name) and node.target.id == self.variable:
            value = ast.BinOp(ast.Name(self.variable, ast.Load()), node.op, node.value)
            made = ast.Assign([node.target], ast.copy_location(value, node))
            made.type_comment = None
            return ast.fix_missing_locations(ast.copy_location(made, node))
        return node


class _Lanes(ast.NodeTransformer):
    """The element of the lane stands for the thread's own."""

    def __init__(self, name: str, made: str, lane: str, is_array: bool, lane_first: bool) -> None:
        self.name = name
        self.made = made
        self.lane = lane
        self.is_array = is_array
        self.lane_first = lane_first

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not (isinstance(node.value, ast.Name) and node.value.id == self.name):
            return self.generic_visit(node)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        kept = [self.visit(part) for part in index] if self.is_array else []
        return self._element(kept, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._element([], node) if node.id == self.name else node

    def _element(self, index: list[ast.expr], node: ast.Subscript | ast.Name) -> ast.AST:
        lane = ast.Name(self.lane, ast.Load())
        indices = [lane, *index] if self.lane_first else [*index, lane]
        at = ast.Tuple(indices, ast.Load()) if index else lane
        made = ast.Subscript(ast.Name(self.made, ast.Load()), at, node.ctx)
        return ast.fix_missing_locations(ast.copy_location(made, node))


def _taken(kernel: ast.With, name: str, keep: bool = False) -> ast.stmt:
    """The declaration of a name, which is taken out of its block unless it is kept."""
    for node in walk(kernel):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for statement in block:
                match statement:
                    case ast.Assign(
                        targets=[ast.Name(id=target)],
                        value=ast.Call(func=ast.Attribute(attr="alloc_var" | "alloc_local")),
                    ) if target == name:
                        if not keep:
                            block.remove(statement)
                        return statement
    raise AssertionError(f"`{name}` is declared nowhere")


def _replace(kernel: ast.With, old: ast.stmt, new: list[ast.stmt]) -> None:
    for node in walk(kernel):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and old in block:
                at = block.index(old)
                block[at : at + 1] = new
                return


def _placed(made: ast.stmt, like: ast.stmt) -> ast.stmt:
    made.type_comment = None  # type: ignore[attr-defined]
    ast.copy_location(made, like)
    return ast.fix_missing_locations(made)
