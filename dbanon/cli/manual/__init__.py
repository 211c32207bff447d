"""Generate the pages of the manual from the registered functions, metrics, commands and errors."""
