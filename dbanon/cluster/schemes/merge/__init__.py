"""Merge: classes that are too small, or miss the model, are united with the nearest one."""
