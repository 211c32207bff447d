{#- The number of original values (of records r, `size` each) that the texts published for their class (c) do not
    cover. `records` is SQL of the pairs of r and c. Each value is compared in a separate row, so that the cost grows
    with the number of columns and not with its square. `maybe`: NULL is covered by texts that cover values. -#}
{% macro uncovered_values(records, size, maybe) -%}
SELECT coalesce(sum(size) FILTER (WHERE NOT coalesce(is_covered, false)), 0) AS uncovered
        FROM (
            {% set climbing = rules|rejectattr('is_number')|list %}
            {% if climbing %}
            SELECT v.size, CASE
                WHEN v.published IS NULL{% if maybe %} OR v.value IS NULL{% endif %} THEN v.value IS NULL
                WHEN v.published = '*' AND v.value IS NULL THEN true
                ELSE a.published IS NOT NULL
            END AS is_covered
            FROM (
                {% for q in climbing %}
                SELECT {{ q.tree }} AS tree, r.{{ q.column }} AS value, c.{{ 'published'|of(q) }} AS published, {{ size }} AS size
                FROM {{ records }}
                {% if not loop.last %}UNION ALL{% endif +%}
                {% endfor %}
            ) AS v
            LEFT JOIN allowed_values AS a ON a.tree = v.tree AND a.value = v.value AND a.published = v.published
            {% endif %}
            {% for q in rules if q.is_number %}
            {% if climbing or not loop.first %}UNION ALL{% endif +%}
            {% set value %}r.{{ q.column }}{% if q.ends.whole_days %}::DATE{% endif %}{% endset %}
            {% if typed %}
            SELECT {{ size }} AS size, CASE
                WHEN c.{{ 'low'|of(q) }} IS NULL AND c.{{ 'high'|of(q) }} IS NULL THEN true
                WHEN r.{{ q.column }} IS NULL THEN {% if maybe %}true{% else %}false{% endif +%}
                ELSE ({{ value }} >= c.{{ 'low'|of(q) }}{% if q.bottom %} OR c.{{ 'low'|of(q) }} <= {{ q.bottom }}{% endif %})
                    AND ({{ value }} <= c.{{ 'high'|of(q) }}{% if q.top %} OR c.{{ 'high'|of(q) }} >= {{ q.top }}{% endif %})
            END AS is_covered
            FROM {{ records }}
            {% else %}
            SELECT {{ size }} AS size, CASE
                WHEN c.{{ 'published'|of(q) }} IS NULL{% if maybe %} OR r.{{ q.column }} IS NULL{% endif %} THEN r.{{ q.column }} IS NULL
                WHEN c.{{ 'published'|of(q) }} = '*' THEN true
                ELSE ({{ value }} >= a.low OR a.unbounded_low) AND ({{ value }} <= a.high OR a.unbounded_high)
            END AS is_covered
            FROM {{ records }}
            LEFT JOIN {{ 'parsed'|of(q) }} AS a ON a.published = c.{{ 'published'|of(q) }}
            {% endif %}
            {% endfor %}
        )
{%- endmacro %}
