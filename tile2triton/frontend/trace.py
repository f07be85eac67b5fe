"""Execute a kernel function to get its tile program."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewrites.facts import Program
from tile2triton.diagnostics import TileError, at_node
from tile2triton.frontend.builder import Builder, activated
from tile2triton.frontend.decided_extents import decided_extents
from tile2triton.frontend.decisions import noting
from tile2triton.frontend.declarations import Pointer, Tensor, shape_trees
from tile2triton.frontend.dtypes import DType, is_dtype, kernel_dtype
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.environment import Captured, environment_of
from tile2triton.frontend.execution import Prepared, check_names, executable, explained, prepare
from tile2triton.frontend.finish import finished
from tile2triton.frontend.made_tiles import refuse_unused
from tile2triton.frontend.operators import TABLE
from tile2triton.frontend.scopes import Scope
from tile2triton.frontend.statics import named
from tile2triton.frontend.tracer import Tracer
from tile2triton.frontend.values import Buffer
from tile2triton.frontend.whole_programs import Outline, declared, whole_program
from tile2triton.observing import refusals_of


class Undeclared(Dynamic):
    """A parameter of an eager kernel before its declaration `A: T.Tensor(...)`."""

    def __init__(self, name: str) -> None:
        super().__init__(ast.Name(name, ast.Load()))
        self.name = name


def trace_prim_func(captured: Captured, out_idx: Sequence[int] = ()) -> Program:
    """The tile program of a T.prim_func; `out_idx` says which tensors are outputs."""
    with refusals_of(captured.function.__name__):
        return _Trace(captured).lazy(out_idx)


def trace_eager(captured: Captured, statics: dict[str, Any], consts: dict[str, int]) -> Program:
    """The tile program of an eager kernel for these static arguments and T.const sizes."""
    with refusals_of(captured.function.__name__):
        return _Trace(captured).eager(statics, consts)


def trace_whole(
    captured: Captured, arguments: dict[str, Any], free: frozenset[str] | None = None
) -> Program:
    """The program on whole operands for these arguments: `Outline`s of tensors, and statics.

    Extents with names in `free`, and those of batches, are read at the launch where that is
    possible; None: the program is for these sizes.
    """
    with refusals_of(captured.function.__name__):
        trace = _Trace(captured)
        program = trace.whole(arguments)
    if free is not None:
        program.facts.free_sizes = free
        if trace.builder.making.is_shape_read:
            program.facts.fixed_sizes = decided_extents(
                program, arguments, lambda others: _Trace(captured).whole(others)
            )
    return program


class _Trace:
    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.prepared: Prepared = prepare(captured.function.__code__)
        self.tree = self.prepared.source.tree
        self.builder = Builder(self.tree.name, self.prepared.source.filename)
        self.builder.decided += captured.decided or ()
        with noting(self.builder.decided):
            self.environment = environment_of(captured, self.tree)
        check_names(self.prepared, self.environment)
        self.builder.facts.operators = TABLE
        arguments = self.tree.args
        self.parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.names: dict[str, str] = {}

    def lazy(self, out_idx: Sequence[int]) -> Program:
        builder = self.builder
        self._set_down_factory()
        with activated(builder), explained(builder):
            # Tensors have their names before the sizes in their shapes, which may be namesakes.
            self.names = {one.arg: builder.names.claim(one.arg) for one in self.parameters}
            inside = self._declared_inside()
            values = {
                one.arg: Undeclared(one.arg)
                if one.annotation is None and one.arg in inside
                else self._annotated(one)
                for one in self.parameters
            }
            result = self._run(values)
            self._refuse_undeclared()
            makes_outputs = bool(builder.empties) and not out_idx
            outputs = self._returned(result) if makes_outputs else self._outputs_by_index(out_idx)
        return finished(self.builder, self.tree, list(self.names.values()), outputs)

    def eager(self, statics: dict[str, Any], consts: dict[str, int]) -> Program:
        builder = self.builder
        builder.consts = {name: named(name, value) for name, value in consts.items()}
        with activated(builder), explained(builder):
            self.names = {
                one.arg: builder.names.claim(one.arg)
                for one in self.parameters
                if one.arg not in statics
            }
            values: dict[str, Any] = {}
            for one in self.parameters:
                if one.arg in statics:
                    values[one.arg] = self.environment[one.arg] = named(one.arg, statics[one.arg])
                    self._set_down(one.arg, statics[one.arg])
                else:
                    values[one.arg] = (
                        self._annotated(one) if one.annotation else Undeclared(one.arg)
                    )
            outputs = self._returned(self._run(values))
            self._refuse_undeclared()
        return finished(self.builder, self.tree, list(self.names.values()), outputs)

    def whole(self, arguments: dict[str, Any]) -> Program:
        builder = self.builder
        builder.takes_operands = True
        builder.running.append(self.captured.function)
        # The sizes of its tiles get their names when there are tiles.
        builder.names.kept_free = "block_"
        with activated(builder), explained(builder):
            values: dict[str, Any] = {}
            tensors = [name for name, one in arguments.items() if isinstance(one, Outline)]
            self.names = {name: builder.names.claim(name) for name in tensors}
            for name, value in arguments.items():
                if name in tensors:
                    values[name] = declared(builder, self.names[name], value)
                else:
                    values[name] = self.environment[name] = named(name, value)
                    self._set_down(name, value)
            result = self._run(values)
            return whole_program(builder, self.tree, list(self.names.values()), result)

    def _run(self, values: dict[str, Any]) -> Any:
        builder = self.builder
        scope = Scope(builder, builder.root)
        for name, value in values.items():
            scope.bind(name, value)
        tracer = Tracer(builder, scope, self.environment, self._declare)
        run = executable(self.prepared, self.environment)
        result = run(tracer, **values)
        refuse_unused(builder)
        return result

    def _declared_inside(self) -> set[str]:
        """The names that the function declares as statements: `A: T.Tensor(...)`."""
        return {
            node.target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }

    def _annotated(self, parameter: ast.arg) -> Any:
        """The value of a parameter by its annotation, evaluated anew so that sizes have names."""
        annotation = parameter.annotation
        if annotation is None:
            raise self._error(
                parameter,
                "T2T174",
                f"parameter `{parameter.arg}` has no type",
                f'write `{parameter.arg}: T.Tensor((M, N), "float16")` or '
                f"`{parameter.arg}: T.int32`",
            )
        tree = annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            tree = ast.parse(annotation.value, mode="eval").body
        code = compile(
            ast.fix_missing_locations(ast.Expression(tree)), self.prepared.source.filename, "eval"
        )
        try:
            said = eval(code, self.environment)
        except NameError:
            said = self.captured.function.__annotations__.get(parameter.arg)
        value = self._declare(parameter.arg, said)
        if value is None:
            raise self._error(
                parameter,
                "T2T174",
                f"`{ast.unparse(annotation)}` is no type of a kernel's parameter",
                "use T.Tensor(shape, dtype), or an element type such as T.int32 for a scalar",
            )
        return value

    def _declare(self, parameter: str, annotation: Any) -> Any:
        """The tensor or scalar that a declaration makes of a parameter, or None."""
        if parameter not in self.names:
            return None
        name = self.names[parameter]
        builder = self.builder
        if isinstance(annotation, Tensor):
            dtype = annotation.dtype
            strides = shape_trees(annotation.strides)
            builder.add_tensor(name, shape_trees(annotation.shape), str(dtype), "input", strides)
            return Buffer(name, annotation.shape, dtype, "global")
        if is_dtype(annotation) or isinstance(annotation, Pointer):
            is_pointer = isinstance(annotation, Pointer)
            dtype = DType("int64") if is_pointer else kernel_dtype(annotation)
            if is_pointer:
                builder.facts.pointers += (name,)
            builder.facts.scalars[name] = str(dtype)
            builder.immutable.add(name)
            return Dynamic(ast.Name(name, ast.Load()), str(dtype))
        return None

    def _outputs_by_index(self, out_idx: Sequence[int]) -> tuple[str, ...]:
        names = list(self.names.values())
        outputs = []
        for index in out_idx:
            if not -len(names) <= index < len(names) or names[index] not in self._tensors:
                raise self._error(
                    self.tree,
                    "T2T175",
                    f"out_idx={index} names no tensor of `{self.tree.name}`",
                    f"its parameters are numbered from 0 to {len(names) - 1}",
                )
            if names[index] in outputs:
                raise self._error(
                    self.tree,
                    "T2T175",
                    f"out_idx names `{names[index]}` of `{self.tree.name}` twice",
                    "name each output once",
                )
            outputs.append(names[index])
        for name in outputs:
            self._tensors[name] = replace(self._tensors[name], role="output")
        if self.builder.empties:
            raise self._error(
                self.tree,
                "T2T183",
                f"Out index conflict: `{self.tree.name}` makes its outputs with T.empty",
                "leave out_idx out",
            )
        return tuple(outputs)

    def _returned(self, result: Any) -> tuple[str, ...]:
        """The outputs that an eager kernel returns."""
        items = result if isinstance(result, (tuple, list)) else (result,)
        outputs = []
        for item in items:
            if item is None and len(items) == 1:
                continue
            if not isinstance(item, Buffer) or self._role(item.name) != "output":
                raise self._error(
                    self._return(),
                    "T2T177",
                    f"the kernel returns `{item!r}`, which is not from T.empty",
                    "return what T.empty made; tensors that are passed in need no return",
                )
            outputs.append(item.name)
        missing = [name for name in self.builder.empties if name not in outputs]
        if missing:
            raise self._error(
                self._return(),
                "T2T178",
                f"`{missing[0]}` is from T.empty, but it is not returned",
                f"return it, or use T.alloc_global for a tensor that only the kernel sees: "
                f"return {', '.join([*outputs, *missing])}",
            )
        return tuple(outputs)

    def _return(self) -> ast.AST:
        returns = [node for node in ast.walk(self.tree) if isinstance(node, ast.Return)]
        return returns[-1] if returns else self.tree

    def _refuse_undeclared(self) -> None:
        facts = self.builder.facts
        for one in self.parameters:
            name = self.names.get(one.arg)
            if name is not None and name not in facts.tensors and name not in facts.scalars:
                raise self._error(
                    one,
                    "T2T174",
                    f"parameter `{one.arg}` has no type",
                    f'declare it: `{one.arg}: T.Tensor((M, N), "float16")`',
                )

    def _set_down_factory(self) -> None:
        factory = self.captured.factory
        if factory is not None:
            for name in factory.co_varnames[: factory.co_argcount + factory.co_kwonlyargcount]:
                if name in self.captured.values:
                    self._set_down(name, self.captured.values[name])

    def _set_down(self, name: str, value: Any) -> None:
        """Note a structural argument: it is folded away, but decided what was traced."""
        if isinstance(value, (bool, str, type(None))) or is_dtype(value):
            is_text = isinstance(value, str) or is_dtype(value)
            shown = repr(str(value).removeprefix("torch.")) if is_text else repr(value)
            self.builder.facts.settings[name] = shown

    def _role(self, name: str) -> str:
        tensor = self._tensors.get(name)
        return tensor.role if tensor is not None else ""

    @property
    def _tensors(self) -> dict[str, Any]:
        return self.builder.facts.tensors

    def _error(self, node: ast.AST, code: str, message: str, hint: str) -> TileError:
        return TileError(at_node(node, self.builder.facts.filename, code, message, hint=hint))
