"""One module a family of algorithms."""
