{#- One row per class of people with equal published values in all tables. -#}
SELECT
    l.{{ parent.names.class_id }} AS {{ parent.names.class_id }}, count(*) AS {{ parent.names.size }}
    {% for q in parent.quasi %}, l.{{ q.name }} AS {{ q.name }}{% endfor %}
    {% for t in children %}, r.{{ 'row count'|of(t) }} AS {{ t.names.size }}{% endfor +%}
FROM {{ 'published rows'|of(parent) }} AS l
JOIN reader AS r ON r.pseudonym = l.{{ parent.names.key }}
WHERE (SELECT passed FROM gate)
GROUP BY ALL
ORDER BY l.{{ parent.names.class_id }} ASC
