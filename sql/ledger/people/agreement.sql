{#- How often what the records of people say occurs in each version, of those who are left: for each pair of numbers, how many
    such values there are. -#}
WITH
{% if has_keys %}
person AS (
    SELECT side, hash(list_sort(list(hash({% for n in places %}v{{ n }}, {% endfor %}records)), 'ASC', 'NULLS LAST')) AS signature, 1 AS records
    FROM {{ units }}
    WHERE CASE WHEN side = 0 THEN who NOT IN (SELECT person_key FROM {{ same }}) ELSE who NOT IN (SELECT their_key FROM {{ same }}) END
    GROUP BY side, who
),
{% else %}
person AS (SELECT side, hash({% for n in places %}{% if not loop.first %}, {% endif %}v{{ n }}{% endfor %}) AS signature, records FROM {{ units }}),
{% endif %}
occurs AS (
    SELECT
        coalesce(sum(records) FILTER (WHERE side = 0), 0)::BIGINT AS mine,
        coalesce(sum(records) FILTER (WHERE side = 1), 0)::BIGINT AS theirs
    FROM person
    GROUP BY signature
)
SELECT mine, theirs, count(*) AS signatures FROM occurs GROUP BY ALL ORDER BY ALL ASC
