"""Assign: centers first, every record to the nearest, then records move until each cluster has k of them.

The family of one-pass k-means. This is not growth (see `dbanon.cluster.growth`): all clusters are there before the
first record is placed, and records may move from one to another until the end.

All use the distance of the k-member papers: |a - b| / D on a number, Hsub(lca) / Hsub(root) on a hierarchy, times the
weight; a NULL is at distance 1 from every value and 0 from a NULL. Distances, and means, are rounded to multiples of
2^-s, s the largest for which n times the sum of the weights stays below 2^62, so equal sums are equal; ties go to the
first record in canonical order and to the earlier cluster. The mean of a number leaves NULLs out (a cluster of nothing
else has NULL); a NULL can be the mode; NULLs and values have nothing but the root in common.

Clusters are of quasi-identifiers alone. The three-variants paper clusters on sensitive values too, but a release must
not depend on them through anything but its privacy model: the canonical order leaves them out, and a Space has them
only where a model needs them.

Groups have k records. Where persons are counted, or sensitive values are tested, those that miss the model are merged
afterwards.
"""
