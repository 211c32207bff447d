"""What happens to finished clusters: repair, outliers, improvement, widening."""
