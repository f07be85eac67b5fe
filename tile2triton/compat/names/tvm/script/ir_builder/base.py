"""`tvm.script.ir_builder.base`: what loops are instances of."""

from tile2triton.tilelang.frames import IRBuilderFrame

__all__ = ["IRBuilderFrame"]
