-- description: Square error of a number in its own unit (dates and times: days): squared distance to the mean of its \
    class.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 126
-- requires: number
-- custodian: classes
SELECT q.detail, q.class_error * s.width * s.width AS value
FROM square_errors AS q
LEFT JOIN (SELECT DISTINCT attribute, width FROM number_steps) AS s USING (attribute)
WHERE q.is_number
