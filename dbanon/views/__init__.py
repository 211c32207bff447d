"""Materialized anonymized views: versions, their ledger, certificates, what is handed out."""
