"""Table functions: how they are declared, called and found."""
