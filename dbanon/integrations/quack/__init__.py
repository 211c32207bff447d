"""Serve releases to readers, and everything to the custodian, over DuckDB's Quack protocol."""
