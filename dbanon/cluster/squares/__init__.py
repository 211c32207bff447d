"""Microaggregation: the least squared distances of records to the mean of their class, under the whole model."""
