"""Rewrites of tile programs: tree to tree, one file each, without any dependency."""
