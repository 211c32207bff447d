"""A SQL shell: `dbanon shell clinic.duckdb`. Statements run as on `dbanon.connect`; dot commands are its own."""
