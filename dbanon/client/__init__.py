"""Python in front of it: connections, DataFrames, the demo."""
