"""What the compiler made of a kernel: how each tile is moved, multiplied and laid out."""
