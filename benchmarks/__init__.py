"""Measurements: tile programs beside the strongest hand-written Triton, torch and TileLang."""
