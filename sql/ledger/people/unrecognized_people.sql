{#- The records of people of a new version (side 0) who are not in another one (side 1), and the reverse, with hashes of
    the columns that both have. They are all records if no column identifies people, because equal ones may be equal by
    chance. -#}
CREATE OR REPLACE TEMP TABLE {{ table }} AS
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
{% if has_keys %}
WHERE identity NOT IN (SELECT identity FROM other_records)
{% endif %}
UNION ALL
SELECT
    1, identity, records
    {% for c in columns %}
    , {{ c.theirs }}
    {% endfor %}
FROM other_records
{% if has_keys %}
WHERE identity NOT IN (SELECT identity FROM new_records)
{% endif %}
