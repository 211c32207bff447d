{#- How a class stands to a sensitive column of a table (t), of the rows that leave: a row a class that has rows there, with
    its people, how many different values they have, and how many of them have the one that most do. A NULL is no value. -#}
{% macro held(t, s) -%}
    SELECT b.class_id, n.people, coalesce(h.different, 0) AS different, coalesce(h.most, 0) AS most
    FROM (SELECT DISTINCT {{ t.names.class_id }} AS class_id FROM {{ 'published rows'|of(t) }}) AS b
    JOIN (SELECT class_id, count(*) AS people FROM reader GROUP BY class_id) AS n ON n.class_id = b.class_id
    LEFT JOIN (
        SELECT class_id, count(*) AS different, max(holders) AS most
        FROM (
            SELECT {{ t.names.class_id }} AS class_id, encode({{ s.text }}) AS value, count(DISTINCT {{ t.names.key }}) AS holders
            FROM {{ 'published rows'|of(t) }}
            WHERE {{ s.name }} IS NOT NULL
            GROUP BY ALL
        )
        GROUP BY class_id
    ) AS h ON h.class_id = b.class_id
{%- endmacro %}
