"""The manual: pages made from the functions, the measures, the commands and the errors themselves."""
