"""Mistakes of a user and the full text of what is said about them."""
