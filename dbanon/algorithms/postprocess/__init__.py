"""Changes of finished clusters: merging, suppression, improvement, widening."""
