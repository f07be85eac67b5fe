"""Emitted kernels on CPU tensors, beside compiled ones in the same process."""

from .kernel import InterpreterError, interpret

__all__ = ["InterpreterError", "interpret"]
