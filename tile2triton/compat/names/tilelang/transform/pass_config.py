"""`tilelang.transform.pass_config`: the keys of `pass_configs`."""

from tile2triton.tilelang.pass_configs import PassConfigKey, normalize_pass_configs

__all__ = [
    "PassConfigKey",
    "normalize_pass_configs",
]
