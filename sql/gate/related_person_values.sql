{#- The values of a sensitive column of a table (t) in each class, computed from the published rows: one row per class
    that has rows there, with the number of its people, of their different values, and of the people who have the most
    frequent one. A NULL is not a value. -#}
{% macro held(t, s) -%}
    SELECT b.class_id, n.people, coalesce(h.different, 0) AS different, coalesce(h.most, 0) AS most
    FROM (SELECT DISTINCT {{ t.names.class_id }} AS class_id FROM {{ 'published rows'|of(t) }}) AS b
    JOIN (SELECT class_id, count(*) AS people FROM reader GROUP BY class_id) AS n ON n.class_id = b.class_id
    LEFT JOIN (
        SELECT class_id, count(*) AS different, max(holders) AS most
        FROM (
            SELECT {{ t.names.class_id }} AS class_id, encode({{ s.text }}) AS value, \
                count(DISTINCT {{ t.names.key }}) AS holders
            FROM {{ 'published rows'|of(t) }}
            WHERE {{ s.name }} IS NOT NULL
            GROUP BY ALL
        )
        GROUP BY class_id
    ) AS h ON h.class_id = b.class_id
{%- endmacro %}
