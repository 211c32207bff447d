{#- The final rows: the gate checks this relation, and after the gate nothing is joined, computed or filtered. Equal
    rows are one row with a list of as many copies. `place` is their order, by the published values alone, so that the
    order reveals nothing that the rows do not. -#}
-- One row per distinct published row: its number of copies (as the length of a list), and its position in the order,
-- which is that of the published values alone.
published_rows AS MATERIALIZED (
    SELECT
        {% for c in output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
        r.class_id AS {{ class_id }},
        list_resize([]::TINYINT[], r.size) AS {{ copies }},
        row_number() OVER (ORDER BY r.class_id ASC{% if noise %}{% for q in quasi %}, \
            r.{{ 'published'|of(q) }} ASC NULLS LAST{% endfor %}{% endif %}{% for u in unchanged %}, \
            {{ sql(u.sort_key(sql('r.', u.column))) }} ASC NULLS LAST{% if not u.text_is_value %}, \
            r.{{ 'text'|of(u) }} ASC NULLS LAST{% endif %}{% endfor %}) AS {{ place }}
    FROM (
        {% if noise %}
        FROM distinct_rows
        {% else %}
        SELECT c.*, {% for u in unchanged %}p.{{ u.column }}, \
            {% if not u.text_is_value %}p.{{ 'text'|of(u) }}, {% endif %}{% endfor %}p.size
        FROM (
            SELECT l.class_id{% for u in unchanged %}, s.{{ u.column }}{% if not u.text_is_value %}, \
                s.{{ 'text'|of(u) }}{% endif %}{% endfor %}, sum({{ dealt() }})::BIGINT AS size
            FROM {{ records() }}
            GROUP BY ALL
        ) AS p
        JOIN {% if without_losses is not defined %}published_classes\
            {% else %}({{ class_values() }}){% endif %} AS c USING (class_id)
        {% endif %}
    ) AS r
),
