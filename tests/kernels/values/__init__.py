"""Tile programs whose tiles are values: made where they are assigned, computed as a whole."""
