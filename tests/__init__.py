"""The tests of tile2triton; `pytest` from the root of the repository runs them."""
