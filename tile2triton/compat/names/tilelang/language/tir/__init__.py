"""`tilelang.language.tir`: TIR, which is not here."""
