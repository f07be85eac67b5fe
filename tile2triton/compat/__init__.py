"""`import tile2triton.compat` makes `import tilelang` mean tile2triton for the rest of the process.

The import installs the names at once, and again does nothing. It must come before the first
`import tilelang`: where TileLang itself is imported already, it raises and changes nothing.
"""

from tile2triton.compat.finder import NAMES, install, is_installed

__all__ = ["NAMES", "install", "is_installed"]

install()
