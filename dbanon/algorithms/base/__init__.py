"""Shared by all algorithms: registration, capabilities, loss, assignments, metrics of clusters."""
