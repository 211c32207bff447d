{#- How many rows of a table are about no person in the table of people (orphans), or how many rows there have no key
    (missing), or how many keys occur several times (repeated). -#}
SELECT count(*) AS repeated
{% if what == 'orphans' %}
FROM (
    SELECT
        {% for k in keys %}
        {{ k.own }} AS {{ k.column }}{{ sql(',') if not loop.last }}
        {% endfor %}
    FROM {{ child }}
) AS child_keys
WHERE NOT EXISTS (
    FROM (
        SELECT
            {% for k in keys %}
            {{ k.theirs }} AS {{ k.column }}{{ sql(',') if not loop.last }}
            {% endfor %}
        FROM {{ entity }}
    ) AS person_keys
    WHERE true
        {% for k in keys %}
        AND person_keys.{{ k.column }} = child_keys.{{ k.column }}
        {% endfor %}
)
{% elif what == 'missing' %}
FROM {{ entity }}
WHERE false
    {% for k in keys %}
    OR {{ k.theirs }} IS NULL
    {% endfor %}
{% else %}
FROM (
    SELECT 1
    FROM {{ entity }}
    WHERE true
        {% for k in keys %}
        AND {{ k.theirs }} IS NOT NULL
        {% endfor %}
    GROUP BY {% for k in keys %}{{ k.theirs }}{{ sql(', ') if not loop.last }}{% endfor +%}
    HAVING count(*) > 1
)
{% endif %}
