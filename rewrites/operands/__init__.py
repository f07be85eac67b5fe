"""Programs on whole operands: what their elements are, and how tiles compute them."""
