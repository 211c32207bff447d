"""Gather: groups grow (see `dbanon.cluster.growth`) by the records nearest to their seed. The family of KACPC."""
