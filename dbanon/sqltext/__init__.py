"""How SQL is written: names and literals quoted, templates filled, functions called by their whole names."""
