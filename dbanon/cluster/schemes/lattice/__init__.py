"""Lattice: every attribute is raised to one level for all records. The family of Incognito.

This is not growth (see `dbanon.cluster.growth`): levels of the attributes are searched for, and clusters follow.
"""
