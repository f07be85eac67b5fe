"""`tvm.tirx.script`: TIR as text, which is not here."""
