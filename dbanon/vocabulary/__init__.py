"""Words in the names of columns, and what they say."""
