{#- Differences between the written tables of a version and what passed the release gate. It shares no step with what
    wrote them. One row: `misplaced`, rows that come before one that they should follow (by class and unchanged values
    alone); `other_classes`, classes whose published values differ between the release and its table of classes. -#}
WITH
-- One row per row of the release: the values by which it is ordered.
released_rows AS (
    SELECT row(
        {{ class_id }}
        {% for u in unchanged %}
        , {{ sql(u.row_value(u.name)) }}
        {% if not u.text_is_value %}
        , {{ u.name }}::VARCHAR
        {% endif %}
        {% endfor %}
    ) AS ordering_values
    FROM {{ version }}
),
{% for relation, table in (('released_classes', groups), ('listed_classes', classes)) %}
-- One row per class: its published values in the {{ sql('release' if loop.first else 'table of classes') }}.
{{ sql(relation) }} AS MATERIALIZED (
    SELECT{{ sql(' DISTINCT') if loop.first }}
        {{ class_id }} AS "class id"
        {% for c in quasi_output %}
        , {{ c.name }}::VARCHAR AS {{ 'published'|of(c) }}
        {% endfor %}
    FROM {{ table }}
    {% if not loop.first %}
    WHERE {{ class_id }} IS NOT NULL
    {% endif %}
){{ sql(',') if not loop.last }}
{% endfor %}
SELECT
    (
        SELECT count(*)
        FROM (SELECT ordering_values < lag(ordering_values) OVER () AS is_misplaced FROM released_rows)
        WHERE is_misplaced
    ) AS misplaced,
    (
        SELECT count(*)
        FROM (
            (FROM released_classes EXCEPT FROM listed_classes)
            UNION ALL
            (FROM listed_classes EXCEPT FROM released_classes)
        )
    ) AS other_classes
