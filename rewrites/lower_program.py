"""Lower the statements of a tile program to Triton, in order; loops and branches stay around them.

before:
    block_N = 64
    def double(A: T.Tensor((256,), "float32"), C: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            tile = T.alloc_fragment((block_N,), "float32")
            T.copy(A[bx * block_N], tile)
            for i in T.Parallel(block_N):
                tile[i] = tile[i] * 2
            T.copy(tile, C[bx * block_N])

after:
    block_N = 64
    def double(A: T.Tensor((256,), 'float32'), C: T.Tensor((256,), 'float32')):
        with T.Kernel(4, threads=128) as bx:
            # T.copy(A[bx * block_N], tile)
            offs_n = bx * block_N + tl.arange(0, block_N)
            tl.static_assert(256 % block_N == 0)
            tile = tl.load(A + offs_n)
            tile = tile * 2.0
            # T.copy(tile, C[bx * block_N])
            offs_n_1 = bx * block_N + tl.arange(0, block_N)
            tl.static_assert(256 % block_N == 0)
            tl.store(C + offs_n_1, tile)
"""

import ast

from rewrites.descriptors import plan_descriptors
from rewrites.environment import Names, environment_of, next_power_of_two
from rewrites.errors import Problem, RewriteError, refuse
from rewrites.facts import Facts, Tensor, Tile
from rewrites.hint_notes import note
from rewrites.lower_loops import loop_header
from rewrites.lower_parallel import lower_parallel, statement_in_space
from rewrites.lowering import Lowering
from rewrites.natural_variables import natural_variables
from rewrites.nodes import Blank, Comment
from rewrites.padding import zero_padded_tiles
from rewrites.quote import copy_tree, name, stand_for, stmts
from rewrites.ranges import NATURAL
from rewrites.scalars import as_condition
from rewrites.space import Space
from rewrites.tile_views import seen_as
from rewrites.tree import base_name, function_of, is_view, names_in
from rewrites.turned_products import turned_products
from rewrites.values import named, stored, strong, triton_dtype


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Lower tiles, element-wise loops, scalars and loop headers; `T.Kernel` blocks stay."""
    function = function_of(tree)
    lowering = Lowering(facts, environment_of(facts), Names.of(tree, facts))
    for variable in natural_variables(function, facts):
        lowering.environment.ranges[variable] = NATURAL
    lowering.zero_padded = zero_padded_tiles(function, facts)
    lowering.turned = turned_products(function, facts)
    lowering.descriptors = plan_descriptors(function, facts)
    program = _Program(lowering)
    function.body = program.block(function.body)
    if program.problems:
        raise RewriteError(*program.problems)
    return tree


class _Program:
    """Visits statements in program order and gathers the problems of all of them."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.facts = lowering.facts
        self.problems: list[Problem] = []

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        outer_safe_values = dict(self.lowering.safe_values)
        for statement in body:
            with self.lowering.block() as out:
                try:
                    self.statement(statement)
                except RewriteError as error:
                    self.problems += error.problems
            for made in out:
                stand_for(made, statement)
            if _is_operator_call(statement) and len(out) > 1:
                comment = Comment(ast.unparse(statement))
                stand_for(comment, statement)
                out.insert(0, comment)
            result += out
        self.lowering.safe_values = outer_safe_values
        return result or [ast.Pass()]

    def statement(self, statement: ast.stmt) -> None:
        out = self.lowering.out
        match statement:
            case Comment() | Blank() | ast.Pass():
                out.append(statement)
            case ast.With():
                self._kernel(statement)
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
                lower_parallel(self.lowering, statement)
            case ast.For(target=target):
                header = loop_header(self.lowering, statement)
                out.append(ast.For(target, header, self.block(statement.body), []))
            case ast.While():
                self._while(statement)
            case ast.If(test=test, orelse=orelse):
                condition = as_condition(Space(self.lowering).value(test))
                rest = self.block(orelse) if orelse else []
                out.append(ast.If(condition.tree, self.block(statement.body), rest))
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                self._assign(target, value)
            case ast.Expr(value=ast.Call() as call):
                self._operator(call, statement)
            case ast.Assign() | ast.AugAssign():
                statement_in_space(Space(self.lowering), statement)
            case _:
                raise refuse(
                    statement,
                    "T2T312",
                    f"`{ast.unparse(statement).splitlines()[0]}` is no statement of tile programs",
                )

    def _while(self, loop: ast.While) -> None:
        """A loop whose test is evaluated anew in every turn, with the statements it takes."""
        lowering = self.lowering
        with lowering.block() as steps:
            test = as_condition(Space(lowering).value(loop.test)).tree
        if not steps:
            lowering.out.append(ast.While(test, self.block(loop.body), []))
            return
        going = lowering.names.fresh("going")
        steps += stmts("going = test", going=going, test=test)
        body = [*self.block(loop.body), *map(copy_tree, steps)]
        lowering.out += [*steps, ast.While(name(going), body, [])]

    def _kernel(self, block: ast.With) -> None:
        self.lowering.kept = {}
        self.lowering.block_number += 1
        (item,) = block.items
        assert isinstance(item.context_expr, ast.Call)
        zero = ast.Constant(0)
        for variable, extent in zip(block_variables(block), item.context_expr.args, strict=True):
            self.lowering.environment.add_counter(variable, zero, extent, 1)
        self.lowering.out.append(ast.With(block.items, self.block(block.body)))

    def _operator(self, call: ast.Call, statement: ast.stmt) -> None:
        assert isinstance(call.func, ast.Attribute)
        operator = self.facts.operators[call.func.attr]
        if operator.name == "use_swizzle":
            # The order of the blocks is the kernel's: `open_kernels` reads it.
            self.lowering.out.append(statement)
            enabled = operator.arguments(call)["enable"]
            if isinstance(enabled, ast.Constant) and not enabled.value:
                note(self.facts, call, ast.unparse(call), "native", "it is switched off")
        elif operator.kind != "hint":
            Space(self.lowering).run_operator(call)

    def _assign(self, target: str, tree: ast.expr) -> None:
        lowering, facts = self.lowering, self.facts
        match tree:
            case ast.Call(func=ast.Attribute(attr=function)) if (
                facts.operators[function].kind == "allocation"
            ):
                if function in ("make_tensor", "make_tensor_from_addr"):
                    self._pointer(facts.tensors[target], tree)
                    return
                if is_view(tree):
                    self._view(facts.tiles[target], tree)
                    return
                if target not in facts.variables:
                    self._assert_extents(facts.tiles[target])
                    return
                tree = facts.operators[function].arguments(tree)["init"]
        value = Space(lowering).value(tree)
        if target in facts.counters:
            lowering.environment.add_counter(target, *facts.counters[target])
        if target in facts.variables:
            dtype = facts.variables[target]
            new = stored(value, dtype)
            # Triton types a Python number that a loop carries as int32 or float32.
            if dtype not in ("int32", "float32", "bool"):
                new = strong(new)
            lowering.emit("target = value", target=target, value=new.tree)
            return
        environment = lowering.environment
        environment.ranges[target] = environment.range(tree)
        environment.divisors[target] = environment.divisor(tree)
        environment.dtypes[target] = value.dtype
        # Triton makes a Python number that is assigned to a name a typed scalar.
        environment.unrolled.discard(target)
        lowering.emit("target = value", target=target, value=named(value).tree)

    def _pointer(self, tensor: Tensor, call: ast.Call) -> None:
        """A pointer to memory at an address, whose alignment is the language's promise."""
        self.lowering.emit(
            "target = tl.multiple_of(address.to(tl.pointer_type(dtype)), 16)",
            target=tensor.name,
            address=Space(self.lowering).value(call.args[0]).tree,
            dtype=triton_dtype(tensor.dtype),
        )

    def _view(self, target: Tile, call: ast.Call) -> None:
        source = base_name(call.args[0])
        assert source is not None
        tree = seen_as(self.lowering, self.facts.tiles[source], target)
        self.lowering.emit("target = tree", target=target.name, tree=tree)

    def _assert_extents(self, tile: Tile) -> None:
        """Lengths that lowering settles by an extent's value hold for that value only."""
        for extent, tree in zip(tile.shape, tile.trees, strict=True):
            has_name = bool(names_in(tree) & self.facts.constants.keys())
            is_padded = next_power_of_two(extent) != extent and not isinstance(tree, ast.Name)
            if has_name and (tile.is_scalar or is_padded):
                length = Space(self.lowering).value(tree).tree
                self.lowering.emit(
                    "tl.static_assert(length == extent)",
                    length=length,
                    extent=ast.Constant(extent),
                )


def block_variables(block: ast.With) -> list[str]:
    """The names of the block indices, in the order x, y, z."""
    variables = block.items[0].optional_vars
    if variables is None:
        return []
    targets = variables.elts if isinstance(variables, ast.Tuple) else [variables]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_operator_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
