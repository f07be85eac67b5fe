"""Tile programs as users write them, shared by tests, documentation and benchmarks."""
