"""The release gate: the check of every release before its rows are returned, independent of what made it."""
