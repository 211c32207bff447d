{#- Beta-likeness: the greatest relative gain of a value's share over the whole table; in the enhanced form infinite
    where it is above -ln of the share in the table (Cao and Karras 2012). A sensitive NULL is a category of its
    own. -#}
{% macro measure(name, of, settings) %}
SELECT b.class_id, coalesce(max(h.gain), 0.0) AS value
FROM {{ of.body }} AS b
LEFT JOIN (
    SELECT
        p.class_id,
        {% if name == 'enhanced' %}
        CASE
            WHEN (p.share - q.share) / q.share > -ln(q.share) + 1e-9 THEN 'inf'::DOUBLE
            ELSE greatest((p.share - q.share) / q.share, 0.0)
        END AS gain
        {% else %}
        greatest((p.share - q.share) / q.share, 0.0) AS gain
        {% endif %}
    FROM (SELECT *, size::DOUBLE / sum(size) OVER (PARTITION BY class_id) AS share FROM {{ of.held }}) AS p
    JOIN (SELECT *, size::DOUBLE / sum(size) OVER () AS share FROM {{ of.overall }}) AS q
        ON q.value IS NOT DISTINCT FROM p.value
) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
