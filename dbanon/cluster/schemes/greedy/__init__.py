"""Greedy: groups grow (see `dbanon.cluster.growth`) by the record that costs least. The family of k-member."""
