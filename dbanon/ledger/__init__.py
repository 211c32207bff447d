"""What was published, from what, and who is in which class."""
