"""`tilelang.jit.adapter`: how TileLang calls what it compiled."""
