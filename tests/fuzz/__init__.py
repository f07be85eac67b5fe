"""Random tile programs, whose meanings must agree, and what makes those that do not small."""
