"""Attacks on a release."""
