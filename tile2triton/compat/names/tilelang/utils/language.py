"""`tilelang.utils.language`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.utils.language",
        """
    is_global is_shared is_shared_dynamic is_tensor_memory is_fragment is_local array_reduce
    retrieve_stride retrieve_shape is_full_region to_buffer_region get_buffer_region_from_load
    """,
        COMPILER,
    )
)
