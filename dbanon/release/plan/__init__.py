"""The statement that makes a release from its specification."""
