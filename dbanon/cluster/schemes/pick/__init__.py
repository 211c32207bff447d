"""Pick: clusters that choose records by their sensitive values, and by distance or loss among those."""
