"""A release of people and of the rows about them: several related tables, published together."""
