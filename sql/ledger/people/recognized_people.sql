{#- How many people (records, where nobody is told apart) a new version and another one have, and how many are in both. -#}
{% set size = sql('1') if has_keys else sql('sum(records)') %}
WITH
mine AS (SELECT {{ who }} AS who, {{ size }}::BIGINT AS size FROM {{ mine }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL GROUP BY {{ who }}),
theirs AS (SELECT {{ who }} AS who, {{ size }}::BIGINT AS size FROM {{ theirs }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL GROUP BY {{ who }})
SELECT
    (SELECT coalesce(sum(size), 0)::BIGINT FROM mine),
    (SELECT coalesce(sum(size), 0)::BIGINT FROM theirs),
    (SELECT coalesce(sum(least(m.size, t.size)), 0)::BIGINT FROM mine AS m JOIN theirs AS t USING (who))
