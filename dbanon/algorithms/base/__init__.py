"""What the algorithms share: registration, capabilities, loss, assignments, metrics of clusters."""
