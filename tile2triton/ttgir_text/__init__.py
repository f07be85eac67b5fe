"""TTGIR as Triton 3.6 and 3.9 print it, read: operations, types, layouts, loops and locations.

Nothing here needs Triton.
"""
