{#- drawn: `sample` records of a relation of combinations (v_i, s_i where there are some, who, records), or all, if these are
    fewer. A hash of the seed and of what a record is draws them, so that the order of rows does not count. -#}
{% macro drawn_of(of, columns, values) %}
-- A row a combination of which records were drawn: how many.
drawn AS MATERIALIZED (
    SELECT {% for c in columns %}v{{ c.i }}, {% endfor %}{% for s in values %}s{{ s.i }}, {% endfor %}who, count(*)::BIGINT AS records
    FROM (
        SELECT {% for c in columns %}v{{ c.i }}, {% endfor %}{% for s in values %}s{{ s.i }}, {% endfor %}who
        FROM (SELECT *, unnest(range(records)) AS copy FROM {{ of }})
        ORDER BY md5_number_lower(row({{ seed }}, {% for c in columns %}v{{ c.i }}, {% endfor %}{% for s in values %}s{{ s.i }}, {% endfor %}who, copy)::VARCHAR) ASC
        LIMIT {{ sample }}
    )
    GROUP BY ALL
),
{% endmacro %}
