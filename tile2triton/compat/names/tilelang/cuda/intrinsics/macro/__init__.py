"""`tilelang.cuda.intrinsics.macro`: code for single threads."""
