"""Where an emitted launcher launches, and in which form it passes the arguments."""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """`kernel[grid](a, b, block=block, num_warps=4)`: two positional arguments, two named ones."""

    kernel: str
    positional: int
    keywords: tuple[str, ...]


@dataclass(frozen=True)
class Sites:
    """All launches of a launcher, and whether all descriptors are of the form that it has."""

    launches: tuple[Site, ...]
    describes_plainly: bool


def sites_of(text: str, name: str) -> Sites:
    """The launches in the function `name` of an emitted module, one for each kernel and form."""
    launches: dict[Site, None] = {}
    describes_plainly = True
    for node in ast.walk(_function(text, name)):
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=kernel))):
                keywords = tuple(keyword.arg or "" for keyword in node.keywords)
                launches[Site(kernel, len(node.args), keywords)] = None
            case ast.Call(func=ast.Name(id="TensorDescriptor")):
                describes_plainly &= len(node.args) == 4 and not node.keywords
    return Sites(tuple(launches), describes_plainly)


def _function(text: str, name: str) -> ast.AST:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    return ast.Module([], [])
