"""What a release shall be: source, roles, attributes, models, options."""
