"""A folder a family of algorithms: what they share, and a file an algorithm."""
