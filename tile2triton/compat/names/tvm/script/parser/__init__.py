"""`tvm.script.parser`: TIR as it is read, which is not here."""
