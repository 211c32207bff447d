"""Search: a start of little loss, from which a local search goes on."""
