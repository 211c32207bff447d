"""The search for the release with the least loss."""
