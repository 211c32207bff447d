-- description: Square error: squared distance of a record to the mean of its class. Numbers are divided by the \
    column's range; a category counts 1 if it is not the mode.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 124
-- custodian: classes
SELECT NULL AS detail, categories{% for q in quasi if q.is_number %} + {{ 'error'|of(q) }}{% endfor %} AS value \
    FROM square_errors WHERE level = 'class'
