"""Compare algorithms, and configurations of a release."""
