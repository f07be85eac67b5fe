"""Expressions as documents for the layout."""
