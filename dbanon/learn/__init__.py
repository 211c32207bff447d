"""What is learned from a table or a release: influence by random forests, and predictions."""
