"""Mixed: algorithms that begin as one family and end as another."""
