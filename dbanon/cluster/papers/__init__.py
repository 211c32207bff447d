"""What one paper needs alone."""
