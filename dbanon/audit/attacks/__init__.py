"""Attacks on a release: whom they expose, with what confidence, and how often they are right."""
