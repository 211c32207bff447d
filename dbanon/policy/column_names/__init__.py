"""What the name of a column says about its contents."""
