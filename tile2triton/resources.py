"""The message for a tile that does not fit on the chip: need, limit, what to reduce."""

from collections.abc import Mapping

from .diagnostics import Diagnostic


def too_large(
    kernel: str,
    resource: str,
    needed: int,
    limit: int,
    device: str,
    constants: Mapping[str, object] | None = None,
) -> Diagnostic:
    """`resource` is Triton's name for it ("shared memory", "tensor memory", "threads")."""
    unit = {"shared memory": "bytes of ", "tensor memory": "columns of "}.get(resource, "")
    found = [
        f"`{kernel}` needs {needed:,} {unit}{resource} in a block",
        f"{device} has {limit:,}",
    ]
    if constants:
        found.append(", ".join(f"{name} = {value}" for name, value in constants.items()))
    return Diagnostic(
        code="T2T401",
        message=f"`{kernel}` needs more {resource} than {device} has in a block",
        found=tuple(found),
        hint="make the tiles smaller, or lower num_stages of T.Pipelined (each stage holds a copy "
        "of every tile that is loaded in the loop)",
    )
