"""What a call reads: the database's catalog, a source and its columns, what views stand on."""
