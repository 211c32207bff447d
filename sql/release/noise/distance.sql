{#- The distance between the values of records and those published instead, one row per column whose values are drawn:
    (detail, value). `apart`: cluster by cluster. Values are those that are clustered: after top and bottom coding and
    min_level, as is the range of a number. -#}
{%- from 'release/plan/number_column.sql' import coded, gap with context -%}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{% macro distances(apart) -%}
{% set where = sql('class_id') if apart else sql('1') %}
SELECT detail, value FROM (
    SELECT NULL AS detail, NULL::DOUBLE AS value
    {% for q in quasi if q.is_drawn %}
    UNION ALL
    {% if q.is_number %}
    SELECT {{ q.label }}, \
        coalesce(avg({{ gap(q, sql('greatest(a.value, b.value)'), sql('least(a.value, b.value)')) }} \
        / nullif({{ gap(q, sql('e.high'), sql('e.low')) }}, 0)), 0)
    FROM (
        SELECT part, value, row_number() OVER (PARTITION BY part ORDER BY value ASC) AS place
        FROM (SELECT {{ where }} AS part, {{ coded(q, sql('s.', q.column)) }} AS value, \
            unnest(range({{ dealt() }})) FROM {{ records() }})
        WHERE value IS NOT NULL
    ) AS a
    JOIN (
        SELECT part, value, row_number() OVER (PARTITION BY part ORDER BY value ASC) AS place
        FROM (SELECT {{ where }} AS part, {{ 'published'|of(q) }} AS value, unnest(range(size)) FROM released_values)
        WHERE value IS NOT NULL
    ) AS b ON b.part = a.part AND b.place = a.place
    CROSS JOIN {{ 'range'|of(q) }} AS e
    {% else %}
    SELECT {{ q.label }}, sum(abs(coalesce(a.size, 0) - coalesce(b.size, 0))) / 2 / (SELECT records FROM totals)
    FROM (
        SELECT {{ where }} AS part, v.published AS value, sum(s.size) AS size
        FROM (SELECT l.class_id, s.{{ q.column }} AS own, {{ dealt() }} AS size FROM {{ records() }}) AS s
        LEFT JOIN (FROM value_codes WHERE tree = {{ q.tree }}) AS d ON d.value = s.own
        LEFT JOIN (FROM range_nodes WHERE tree = {{ q.tree }}) AS v ON v.low = d.code
        GROUP BY ALL
    ) AS a
    FULL JOIN (SELECT {{ where }} AS part, {{ 'published'|of(q) }} AS value, sum(size) AS size FROM released_values \
        GROUP BY ALL) AS b
        ON b.part = a.part AND b.value IS NOT DISTINCT FROM a.value
    {% endif %}
    {% endfor %}
)
WHERE detail IS NOT NULL
{%- endmacro %}
