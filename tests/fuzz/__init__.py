"""A differential fuzzer: random tile programs whose meanings must agree, and a shrinker for those that do not."""
