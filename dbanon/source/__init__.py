"""Sources of records: the catalog, attached databases, files, and the stored policy."""
