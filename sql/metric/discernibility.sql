-- what: Discernibility: sum of squared class sizes.
-- better: lower
-- source: three-variants paper (S2), Equation 3
-- place: 120
SELECT NULL AS detail, sum(size::HUGEINT * size) AS value FROM class_of
