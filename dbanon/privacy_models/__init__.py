"""The privacy models, one file each, and the constraint that they form together."""
