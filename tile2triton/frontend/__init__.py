"""Tracing: a user's kernel function is instrumented and executed, which leaves its tile program."""
