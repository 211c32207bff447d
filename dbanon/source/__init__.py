"""Sources of a call: the catalog, attached databases, column types, the stored policy and the schema `dbanon`."""
