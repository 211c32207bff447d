"""The ledger of stored releases: versions, their sources, and the class of every record."""
