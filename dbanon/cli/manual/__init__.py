"""The pages of the manual, made from what is registered."""
