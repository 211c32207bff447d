"""Privacy models: what a call asks for, what a class measures, the constraint that they make together."""
