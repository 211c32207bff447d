{#- How many rows of a table are about nobody in that of people (orphans), or how many rows there have no key (missing), or
    how many keys several have (repeated). -#}
SELECT count(*) AS repeated
{% if what == 'orphans' %}
FROM (SELECT {% for k in own %}{{ k }} AS k{{ loop.index0 }}{{ sql(', ') if not loop.last }}{% endfor %} FROM {{ child }}) AS c
WHERE NOT EXISTS (
    FROM (SELECT {% for k in theirs %}{{ k }} AS k{{ loop.index0 }}{{ sql(', ') if not loop.last }}{% endfor %} FROM {{ entity }}) AS e
    WHERE {% for k in theirs %}e.k{{ loop.index0 }} = c.k{{ loop.index0 }}{{ sql(' AND ') if not loop.last }}{% endfor +%}
)
{% elif what == 'missing' %}
FROM {{ entity }}
WHERE {% for k in theirs %}{{ k }} IS NULL{{ sql(' OR ') if not loop.last }}{% endfor +%}
{% else %}
FROM (
    SELECT 1
    FROM {{ entity }}
    WHERE {% for k in theirs %}{{ k }} IS NOT NULL{{ sql(' AND ') if not loop.last }}{% endfor +%}
    GROUP BY {% for k in theirs %}{{ k }}{{ sql(', ') if not loop.last }}{% endfor +%}
    HAVING count(*) > 1
)
{% endif %}
