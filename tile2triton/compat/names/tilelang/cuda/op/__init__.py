"""`tilelang.cuda.op`: TileLang's own lowering, which is not here."""
