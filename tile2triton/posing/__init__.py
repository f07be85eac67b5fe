"""A GPU that is not there: what programs are told of it, and how they run all the same."""
