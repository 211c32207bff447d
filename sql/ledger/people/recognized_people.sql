{#- How many people (records, if no column identifies people) a new version and another one have, and how many are in
    both. -#}
{% set size = sql('1') if has_keys else sql('sum(records)') %}
WITH
{% for name, members in (('new_people', mine), ('other_people', theirs)) %}
-- One row per person of the {{ sql('new version' if loop.first else 'other version') }}.
{{ sql(name) }} AS (
    SELECT {{ who }} AS identity, {{ size }}::BIGINT AS size
    FROM {{ members }}
    WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL
    GROUP BY {{ who }}
){{ sql(',') if not loop.last }}
{% endfor %}
SELECT
    (SELECT coalesce(sum(size), 0)::BIGINT FROM new_people),
    (SELECT coalesce(sum(size), 0)::BIGINT FROM other_people),
    (
        SELECT coalesce(sum(least(n.size, o.size)), 0)::BIGINT
        FROM new_people AS n
        JOIN other_people AS o USING (identity)
    )
