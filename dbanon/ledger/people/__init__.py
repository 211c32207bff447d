"""Recognition of the same people in several versions."""
