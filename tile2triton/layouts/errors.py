"""What is wrong with a layout, or with text that should hold one."""

from tile2triton.diagnostics import Diagnostic, TileError


class LayoutError(TileError):
    """A layout that cannot be, or that is not known here; `diagnostics` say which and why."""


def layout_error(code: str, message: str, *found: str, hint: str = "") -> LayoutError:
    """The error of that code, to be raised by the caller."""
    return LayoutError(Diagnostic(code=code, message=message, found=found, hint=hint))
