"""Pseudonyms, masks and shifted dates: identifiers published as something else, which only a key leads back to."""
