"""Every use of `triton.knobs`."""


def cuobjdump_path() -> str:
    """The disassembler that Triton's wheel carries."""
    import triton

    path: str = triton.knobs.nvidia.cuobjdump.path
    return path


def nvdisasm_path() -> str:
    """The one that lists a kernel's instructions."""
    import triton

    path: str = triton.knobs.nvidia.nvdisasm.path
    return path
