"""`tilelang.tileop.gemm`: TileLang's own lowering of products, which is not here."""
