"""Metrics of tables and releases: anonymity, risk, query error, learning utility, attacks, comparisons."""
