"""Running whole scripts without a GPU, to see every kernel that they make."""
