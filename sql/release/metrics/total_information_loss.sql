-- description: Total information loss in the form of k-member: interval widths, and heights of the published nodes' \
    own subtrees in edges, summed over records and attributes.
-- better: lower
-- source: three-variants paper, Equations 1-2; k-members paper, Definitions 5-6
-- order: 112
-- value: edges
