{#- A check of parts of a release against their source: for original rows (relation `source`) and their published
    values (`shown`, the same rows in the same order), the number of values that are not covered, and of published
    values that are finer than the policy allows. It reads as the gate does, and shares no step with the code that made
    the rows. -#}
{%- from 'gate/covered_values.sql' import uncovered_values with context -%}
{%- from 'gate/policy_conformance.sql' import keeps_typed with context -%}
{%- from 'shared/hierarchies.sql' import hierarchies with context -%}
{% set stored = trees|rejectattr('is_sensitive')|selectattr('rows')|list %}
WITH RECURSIVE
{% if stored %}
{{ hierarchies(stored) }}
{% endif %}
class_originals AS MATERIALIZED (
    SELECT rowid AS class_id{% for r in rules %}, {{ r.source_value }} AS {{ r.column }}{% endfor %} FROM {{ origin }}
),
{% include 'gate/allowed_ancestors.sql' %}
regrouped_classes AS MATERIALIZED (
    SELECT
        rowid AS class_id
        {% for r in rules %}
        {% if r.is_number and typed %}, {{ r.ends.low }} AS {{ 'low'|of(r) }}, \
            {{ r.ends.high }} AS {{ 'high'|of(r) }}{% else %}, {{ r.text }} AS {{ 'published'|of(r) }}{% endif %}
        {% endfor %}
    FROM {{ shown }}
),
{% include 'gate/parsed_intervals.sql' %}
counted AS (
    SELECT
        (
        {{ uncovered_values(sql('class_originals AS r JOIN regrouped_classes AS c USING (class_id)'), sql('1'), \
            false) }}
        ) AS uncovered
        {% if typed %}{% for r in rules if r.is_number %}, \
            count(*) FILTER (WHERE NOT coalesce({{ keeps_typed(r, sql('c.', 'low'|of(r)), true) }} \
            AND {{ keeps_typed(r, sql('c.', 'high'|of(r)), false) }}, \
            false)) AS {{ 'finer'|of(r) }}{% endfor %}{% endif %}
    FROM class_originals AS r
    JOIN regrouped_classes AS c ON c.class_id = r.class_id
)
SELECT
    uncovered::BIGINT AS uncovered,
    (0{% for r in rules if r.is_number %} + {% if typed %}{{ 'finer'|of(r) }}{% else %}(SELECT count(*) \
        FROM {{ 'parsed'|of(r) }} WHERE NOT keeps){% endif %}{% endfor %})::BIGINT AS finer
FROM counted
