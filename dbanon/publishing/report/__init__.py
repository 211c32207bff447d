"""The HTML report of a release."""
