"""`tvm.script.ir_builder`: TIR as it is built, which is not here."""
