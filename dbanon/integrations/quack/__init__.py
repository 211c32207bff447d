"""A server for other clients of DuckDB."""
