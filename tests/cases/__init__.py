"""Small inputs that have gone wrong in other tile compilers, each with its whole kind."""
