"""`tvm.script`: TIR as text, which is not here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(absent("tvm.script", "ir_module from_source ir", COMPILER))
