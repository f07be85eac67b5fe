"""Hints: what each says, where it is legal, and what it becomes."""
