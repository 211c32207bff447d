"""Gather: pick a seed, take the records nearest to it until the group is enough, repeat; place what is left. The family
of KACPC."""
