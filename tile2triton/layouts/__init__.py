"""Layouts of registers and of shared memory in compiled code, and what follows from them."""
