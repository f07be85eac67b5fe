"""What the subcommands of `tile2triton` do."""
