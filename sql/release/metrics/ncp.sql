-- description: Normalized certainty penalty: interval widths, and shares of the leaves below the published nodes (0 \
    for a leaf), summed over records and attributes.
-- better: lower
-- source: review of clustering methods, section on information loss; Xu et al. 2006
-- order: 114
-- value: leaves
