"""The page of `tile2triton explain --html`: a program beside all that is made of it."""
