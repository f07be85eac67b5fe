"""Programs on whole operands: what their values are, element by element, and how tiles compute them."""
