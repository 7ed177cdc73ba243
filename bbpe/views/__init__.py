"""Ways of looking at tokens."""
