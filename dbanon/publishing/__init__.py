"""Certificates, release files, copies in other databases."""
