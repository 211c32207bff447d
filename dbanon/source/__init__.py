"""Where records come from: the catalog, attached databases, files, and the policy stored about them."""
