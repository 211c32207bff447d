{#- The records of each class as they are in the source, with which the gate compares the release. -#}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{%- from 'gate/checks.sql' import checksum with context -%}
{%- from 'gate/reread_check.sql' import seal with context -%}
-- Chapter 4, check: the release gate checks the published rows against the policy (as it was when this statement was
-- written, see problem), the stored hierarchies, and the source, which it reads a second time. If a check fails, it
-- raises an error, and no row is published.
-- One row per class and combination of original values: how many records have it, a checksum of their values in columns
-- that are published unchanged, and a checksum (seal) of all values that were read and of the number of columns.
class_originals AS MATERIALIZED (
    SELECT
        l.class_id{% for q in quasi %}, s.{{ q.column }}{% endfor %},
        sum({{ dealt() }})::BIGINT AS size, sum({{ checksum() }} * {{ dealt() }}) AS checksum, \
        sum({{ seal(false) }}::HUGEINT * {{ dealt() }}) AS seal
    FROM {{ records() }}
    GROUP BY l.class_id{% for q in quasi %}, s.{{ q.column }}{% endfor %}
),
