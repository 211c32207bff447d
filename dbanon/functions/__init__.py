"""What a table function is: its parameters, what they accept, how its arguments are read."""
