"""Every use of `triton.knobs`."""


def cuobjdump_path() -> str:
    """The disassembler that Triton's wheel carries."""
    import triton

    path: str = triton.knobs.nvidia.cuobjdump.path
    return path
