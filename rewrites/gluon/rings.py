"""Tiles that a producer loads ahead: rings of slots in shared memory, and tiles loaded once."""

import ast
from dataclasses import dataclass

from rewrites.facts import Descriptor
from rewrites.gluon.errors import UnsuitedError
from rewrites.tree import names_in


@dataclass(frozen=True)
class Load:
    """`name = desc.load([...])`, or of its elements in another shape."""

    name: str
    descriptor: str
    coordinates: tuple[ast.expr, ...]
    # The tile's extents where it has fewer dimensions than the descriptor's block.
    shape: tuple[ast.expr, ...] | None

    @property
    def key(self) -> str:
        """What is loaded, as text."""
        return ", ".join([self.descriptor, *map(ast.unparse, self.coordinates)])


@dataclass(frozen=True)
class Ring:
    """The slots of one tile. A ring that consumers do not `share` is there once for each."""

    load: Load
    descriptor: Descriptor
    is_shared: bool

    @property
    def name(self) -> str:
        return self.load.name


def load_of(statement: ast.stmt) -> Load | None:
    """The load by a TMA descriptor that a statement is."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            shape: tuple[ast.expr, ...] | None = None
            match value:
                case ast.Call(func=ast.Attribute(value=inner, attr="reshape"), args=[*extents]):
                    value, shape = inner, tuple(extents)
            match value:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="load"),
                    args=[ast.List(elts=coordinates)],
                ) if owner != "tl":
                    return Load(target, owner, tuple(coordinates), shape)
    return None


def loads_of(body: list[ast.stmt]) -> list[Load]:
    """The loads by TMA descriptors among statements."""
    return [load for one in body if (load := load_of(one)) is not None]


def leading_to(body: list[ast.stmt], names: set[str]) -> list[ast.Assign]:
    """The statements of a block that lead to these names, other than loads by TMA."""
    found: list[ast.Assign] = []
    wanted = set(names)
    for statement in reversed(body):
        match statement:
            case ast.Assign(targets=[target]) if names_in(target) & wanted:
                if load_of(statement) is None:
                    found.insert(0, statement)
                    wanted |= names_in(statement.value)
    return found


def factors_of(call: ast.Call) -> tuple[tuple[str, bool], ...]:
    """The names of a product's factors, and whether each is transposed."""
    return tuple(map(_factor, call.args[:2]))


def _factor(tree: ast.expr) -> tuple[str, bool]:
    match tree:
        case ast.Name(id=name):
            return name, False
        case ast.Call(func=ast.Attribute(attr="trans"), args=[ast.Name(id=name)]):
            return name, True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="to")):
            return name, False
    raise UnsuitedError(f"`{ast.unparse(tree)}` is multiplied, which is no tile by its name")


def plain_factor(tree: ast.expr) -> ast.expr:
    """A factor as it is before it is transposed."""
    match tree:
        case ast.Call(func=ast.Attribute(attr="trans"), args=[inner]):
            return inner
    return tree


def is_dot(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func) == "tl.dot"


def halves_of(statement: ast.stmt) -> tuple[tuple[str, str], ast.expr, list[ast.expr]] | None:
    """The names of a tile's left and right half, the tile, and the extents of a half."""
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=left), ast.Name(id=right)])],
            value=ast.Call(
                func=ast.Attribute(attr="split"),
                args=[
                    ast.Call(
                        func=ast.Attribute(
                            value=ast.Call(
                                func=ast.Attribute(attr="reshape"),
                                args=[tile, ast.Tuple(elts=[rows, ast.Constant(value=2), columns])],
                            ),
                            attr="permute",
                        )
                    )
                ],
            ),
        ):
            return (left, right), tile, [rows, columns]
    return None


def products_of(body: list[ast.stmt]) -> list[tuple[str, ast.Call]]:
    """The products right in a block, in order, and what their sums are called."""
    found: list[tuple[str, ast.Call]] = []
    for one in body:
        match one:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call) if is_dot(
                call
            ):
                found.append((target, call))
    return found


def is_product_loop(statement: ast.stmt) -> bool:
    """Whether a loop has products right in its turns."""
    match statement:
        case ast.For(body=body):
            return any(isinstance(one, ast.Assign) and is_dot(one.value) for one in body)
    return False


def reads(statement: ast.stmt) -> set[str]:
    """The names that a statement reads."""
    match statement:
        case ast.Assign(value=value):
            return names_in(value)
    return names_in(statement)
