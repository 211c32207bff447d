"""Greedy: begin with a seed, let in the record that costs least, again and again; what is left goes where it costs
least. The family of k-member."""
