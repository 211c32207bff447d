"""The specification of a release: source, roles, attributes, privacy models, options."""
