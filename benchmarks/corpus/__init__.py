"""TileLang's own examples and tests, as `benchmarks/acceptance.py` runs them."""
