"""Metrics of any table: anonymity, risk, query errors, utility, and attacks on a release."""
