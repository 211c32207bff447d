"""The functions that DuckDB calls, and their installation."""
