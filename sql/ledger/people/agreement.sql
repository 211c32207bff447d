{#- How often the combined records of people occur in each version, of those not recognized yet: for each pair of
    numbers, how many such combinations there are. -#}
WITH
{% if has_keys %}
-- One row per person who is not recognized yet: a hash of all of the person's records.
record_signatures AS (
    SELECT
        side,
        hash(list_sort(
            list(hash({% for c in columns %}{{ c }}, {% endfor %}records)),
            'ASC', 'NULLS LAST')) AS signature,
        1 AS records
    FROM {{ units }}
    WHERE CASE
        WHEN side = 0 THEN identity NOT IN (SELECT person_key FROM {{ same }})
        ELSE identity NOT IN (SELECT their_key FROM {{ same }})
    END
    GROUP BY side, identity
),
-- One row per signature: how often it occurs in each version.
signature_counts AS (
    SELECT
        coalesce(sum(records) FILTER (WHERE side = 0), 0)::BIGINT AS n_mine,
        coalesce(sum(records) FILTER (WHERE side = 1), 0)::BIGINT AS n_theirs
    FROM record_signatures
    GROUP BY signature
)
{% else %}
-- One row per combination of values: how often it occurs in each version.
signature_counts AS (
    SELECT sum(n_mine)::BIGINT AS n_mine, sum(n_theirs)::BIGINT AS n_theirs
    FROM {{ units }}
    GROUP BY hash({% for c in columns %}{{ c }}{{ sql(', ') if not loop.last }}{% endfor %})
)
{% endif %}
SELECT n_mine, n_theirs, count(*) AS signatures FROM signature_counts GROUP BY ALL ORDER BY ALL ASC
