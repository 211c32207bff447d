{#- Delta-disclosure privacy: the greatest |ln(p / q)| of a value's share p in a class and q in the whole table;
    infinite where a class lacks a value of the table (Brickell and Shmatikov 2008). A sensitive NULL is a category
    of its own. -#}
{% macro measure(name, of, settings) %}
SELECT
    b.class_id,
    CASE
        WHEN count(h.class_id) < (SELECT count(*) FROM {{ of.overall }}) THEN 'inf'::DOUBLE
        ELSE coalesce(max(h.shift), 0.0)
    END AS value
FROM {{ of.body }} AS b
LEFT JOIN (
    SELECT p.class_id, abs(ln(p.share / q.share)) AS shift
    FROM (SELECT *, size::DOUBLE / sum(size) OVER (PARTITION BY class_id) AS share FROM {{ of.held }}) AS p
    JOIN (SELECT *, size::DOUBLE / sum(size) OVER () AS share FROM {{ of.overall }}) AS q
        ON q.value IS NOT DISTINCT FROM p.value
) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
