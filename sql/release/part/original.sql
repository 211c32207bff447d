{#- What the gate holds the release against: the records of each class as they were. -#}
{%- from 'release/part/assignment.sql' import records with context -%}
{%- from 'release/part/checks.sql' import checksum with context -%}
-- The gate reads: a row a combination of original values in a class, how many records have it, and a checksum.
original AS MATERIALIZED (
    SELECT
        l.class_id{% for q in quasi %}, s.q{{ q.i }}{% endfor %},
        count(*) AS size, sum({{ checksum() }}) AS checksum
    FROM {{ records() }}
    GROUP BY l.class_id{% for q in quasi %}, s.q{{ q.i }}{% endfor %}
),
