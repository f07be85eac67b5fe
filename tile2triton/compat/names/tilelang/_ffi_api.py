"""`tilelang._ffi_api`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang._ffi_api",
        "get_tcgen5_mma_meta get_tcgen5_instr_desc get_tcgen5_blockscaled_instr_desc",
        COMPILER,
    )
)
