-- description: Square error of a number in its own unit (dates and times: days): squared distance to the mean of its \
    class.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 126
-- requires: number
-- custodian: classes
{% for q in quasi if q.is_number %}
SELECT {{ q.label }} AS detail, s.{{ 'error'|of(q) }} * r.width * r.width AS value
FROM square_errors AS s, {{ 'range'|of(q) }} AS r
WHERE s.level = 'class'
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
