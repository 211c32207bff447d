"""Table functions: their declaration, parameters, arguments and dispatch."""
