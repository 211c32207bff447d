{#- The records of people of a new version (side 0) who are not in another one (side 1), and the other way round, with hashes
    of the columns that both have. All records, where nobody is told apart: there equal ones may be so by chance. -#}
CREATE OR REPLACE TEMP TABLE {{ table }} AS
WITH
mine AS MATERIALIZED (SELECT {{ who }} AS who, * FROM {{ mine }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL),
theirs AS MATERIALIZED (SELECT {{ who }} AS who, * FROM {{ theirs }} WHERE class_id IS NOT NULL AND {{ who }} IS NOT NULL)
SELECT 0 AS side, who, records{% for c in columns %}, {{ c.mine }} AS v{{ c.i }}{% endfor +%}
FROM mine
{% if has_keys %}
WHERE who NOT IN (SELECT who FROM theirs)
{% endif %}
UNION ALL
SELECT 1, who, records{% for c in columns %}, {{ c.theirs }}{% endfor +%}
FROM theirs
{% if has_keys %}
WHERE who NOT IN (SELECT who FROM mine)
{% endif %}
