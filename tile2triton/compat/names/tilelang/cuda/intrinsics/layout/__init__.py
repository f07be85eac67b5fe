"""`tilelang.cuda.intrinsics.layout`: layouts of tensor cores."""
