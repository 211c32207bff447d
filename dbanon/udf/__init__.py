"""Functions that DuckDB calls, and their installation."""
