"""Materialized and streaming anonymized views: create, refresh, drop."""
