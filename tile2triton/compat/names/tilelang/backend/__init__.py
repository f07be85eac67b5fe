"""`tilelang.backend`: what is compiled for."""
