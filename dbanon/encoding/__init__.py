"""The encoded table: records as codes, with distances and indexes."""
