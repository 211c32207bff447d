{#- The records of people of a new version (side 0) who are not in another one (side 1), and the reverse, with hashes of
    the columns that both have. If no column identifies people, equal records may be equal by chance: then all
    combinations of values, and how often each version has them (n_mine, n_theirs). -#}
CREATE OR REPLACE TEMP TABLE {{ table }} AS
{% if has_keys %}
WITH
-- One row per record of the new version.
new_records AS MATERIALIZED (
    SELECT {{ who }} AS identity, * FROM {{ mine }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL
),
-- One row per record of the other version.
other_records AS MATERIALIZED (
    SELECT {{ who }} AS identity, * FROM {{ theirs }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL
)
SELECT
    0 AS side, identity, records
    {% for c in columns %}
    , {{ c.mine }} AS {{ c.column }}
    {% endfor %}
FROM new_records
WHERE identity NOT IN (SELECT identity FROM other_records)
UNION ALL
SELECT
    1, identity, records
    {% for c in columns %}
    , {{ c.theirs }}
    {% endfor %}
FROM other_records
WHERE identity NOT IN (SELECT identity FROM new_records)
{% else %}
SELECT * REPLACE (sum(n_mine)::BIGINT AS n_mine, sum(n_theirs)::BIGINT AS n_theirs)
FROM (
    SELECT
        records AS n_mine, 0 AS n_theirs
        {% for c in columns %}
        , {{ c.mine }} AS {{ c.column }}
        {% endfor %}
    FROM {{ mine }}
    WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL
    UNION ALL
    SELECT
        0, records
        {% for c in columns %}
        , {{ c.theirs }}
        {% endfor %}
    FROM {{ theirs }}
    WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL
)
GROUP BY ALL
{% endif %}
