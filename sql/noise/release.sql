{#- NAME('table', ...) of noise: a row a record in the order of the table's columns, then class_id. The order tells nothing
    the rows do not. -#}
{% include 'noise/path.sql' %}
SELECT
    {% for c in output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
    r.class_id AS {{ class_id }}
FROM (
    SELECT *, unnest(range(size)) AS copy
    FROM (
        FROM released
        WHERE (SELECT passed FROM gate)
        ORDER BY class_id ASC{% for q in quasi %}, p{{ q.i }} ASC NULLS LAST{% endfor %}{% for u in unchanged %}, u{{ u.i }} ASC NULLS LAST{% if not u.text_is_value %}, w{{ u.i }} ASC NULLS LAST{% endif %}{% endfor %}

    )
) AS r
