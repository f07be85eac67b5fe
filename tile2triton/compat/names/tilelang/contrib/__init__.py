"""`tilelang.contrib`: what is known about compilers and GPUs."""
