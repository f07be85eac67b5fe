"""`tilelang.jit.adapter.cutedsl`: a back end of TileLang's that is not here."""
