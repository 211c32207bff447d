{#- NAME('table', ...): the released rows in the order of the table's columns, then class_id. Rows that are alike are
    ordered once and repeated, so that order tells nothing the rows do not. -#}
{% include 'part/path.sql' %}
SELECT
    {% for c in output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
    r.class_id AS {{ class_id }}
FROM (
    SELECT *, unnest(range(size)) AS copy
    FROM (
        SELECT c.*, {% for u in unchanged %}p.u{{ u.i }}, {% endfor %}p.size
        FROM released AS p
        JOIN published AS c USING (class_id)
        WHERE (SELECT passed FROM gate)
        ORDER BY p.class_id ASC{% for u in unchanged %}, p.u{{ u.i }} ASC NULLS LAST{% if not u.text_is_value %}, p.w{{ u.i }} ASC NULLS LAST{% endif %}{% endfor %}

    )
) AS r
