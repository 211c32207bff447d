{#- What the written tables of a version show otherwise than the release gate passed it. It shares no step with what wrote
    them. One row: `misplaced`, rows that come before one that they are to follow (by class and unchanged values alone);
    `other_classes`, classes whose published values are not the same in the release and in its classes. -#}
WITH
released_rows AS (
    SELECT row({{ class_id }}{% for u in unchanged %}, {{ sql(u.row_value(u.name)) }}{% if not u.text_is_value %}, {{ u.name }}::VARCHAR{% endif %}{% endfor %}) AS own FROM {{ version }}
),
released_classes AS MATERIALIZED (
    SELECT DISTINCT {{ class_id }} AS "class id"{% for c in quasi_output %}, {{ c.name }}::VARCHAR AS p{{ loop.index }}{% endfor %} FROM {{ version }}
),
listed_classes AS MATERIALIZED (
    SELECT {{ class_id }} AS "class id"{% for c in quasi_output %}, {{ c.name }}::VARCHAR AS p{{ loop.index }}{% endfor %} FROM {{ classes }} WHERE {{ class_id }} IS NOT NULL
)
SELECT
    (SELECT count(*) FROM (SELECT own < lag(own) OVER () AS is_misplaced FROM released_rows) WHERE is_misplaced) AS misplaced,
    (SELECT count(*) FROM ((FROM released_classes EXCEPT FROM listed_classes) UNION ALL (FROM listed_classes EXCEPT FROM released_classes))) AS other_classes
