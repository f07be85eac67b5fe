"""Operators that take whole operands only: what models call by one name."""
