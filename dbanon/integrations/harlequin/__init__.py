"""An adapter for Harlequin."""
