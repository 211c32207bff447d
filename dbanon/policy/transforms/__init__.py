"""Pseudonyms, masks and shifted dates: settings, formats, generation."""
