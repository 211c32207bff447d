"""Full-domain generalization: every attribute is raised to one level for all records."""
