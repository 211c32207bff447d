{#- Alpha of (alpha, k)-anonymity: the greatest share of a value (Wong et al. 2006). A sensitive NULL is a category of
    its own. -#}
{% macro measure(name, of, settings) %}
SELECT b.class_id, coalesce(max(h.size)::DOUBLE / any_value(b.size), 0.0) AS value
FROM {{ of.body }} AS b LEFT JOIN {{ of.held }} AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
