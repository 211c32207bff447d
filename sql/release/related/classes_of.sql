{#- One row a class of people of whom the same is published in all tables. -#}
SELECT
    l.{{ parent.class_id }} AS {{ parent.class_id }}, count(*) AS {{ parent.size_name }}
    {% for q in parent.quasi %}, l.{{ q.name }} AS {{ q.name }}{% endfor %}
    {% for t in children %}, r.size{{ t.i }} AS {{ t.size_name }}{% endfor +%}
FROM {{ 'leaving'|of(parent) }} AS l
JOIN reader AS r ON r.pseudonym = l.{{ parent.key_name }}
WHERE (SELECT passed FROM gate)
GROUP BY ALL
ORDER BY l.{{ parent.class_id }} ASC
