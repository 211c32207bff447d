"""From a call of a table function to the SQL statement of a release."""
