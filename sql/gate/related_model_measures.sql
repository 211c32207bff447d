{#- Whether each published row of a related table represents its row of the source: one row of counts. The gate parses
    texts of numbers back and climbs the stored hierarchies, as in a release of one table. -#}
{%- from 'gate/covered_values.sql' import uncovered_values with context -%}
{%- from 'shared/hierarchies.sql' import hierarchies with context -%}
WITH RECURSIVE
{% set stored = trees|rejectattr('is_sensitive')|selectattr('rows')|list %}
{% if stored %}
{{ hierarchies(stored) }}
{% endif %}
-- One row per row of the table as the gate read it.
class_originals AS (FROM {{ second }}),
{% include 'gate/allowed_ancestors.sql' %}
-- One row per published row, with the names of this statement.
regrouped_classes AS (
    SELECT {{ row }} AS number{% for r in rules %}, {{ r.text }} AS {{ 'published'|of(r) }}{% endfor %}\
        {% for u in unchanged %}, {{ u.name }} AS {{ u.column }}{% endfor +%}
    FROM {{ leaving }}
),
{% include 'gate/parsed_intervals.sql' %}
-- One row: how many published rows correspond to no row of the table or to one that has another, have other unchanged
-- values, do not cover the original values, or have finer values than the policy permits.
counted AS (
    SELECT
        count(*) AS rows,
        count(*) FILTER (WHERE r.number IS NULL) + count(*) - count(DISTINCT c.number) AS unknown,
        count(*) FILTER (WHERE false{% for u in unchanged %} OR encode(c.{{ u.column }}::VARCHAR) \
            IS DISTINCT FROM encode(r.{{ u.column }}::VARCHAR){% if u.is_tagged %} OR hash(c.{{ u.column }}) \
            <> hash(r.{{ u.column }}){% endif %}{% endfor %}) AS untrue,
        (
        {{ uncovered_values(sql('regrouped_classes AS c LEFT JOIN class_originals AS r ON r.number = c.number'), \
            sql('1'), false) }}
        ) AS uncovered,
        0{% for r in rules if r.is_number %} + (SELECT count(*) FROM {{ 'parsed'|of(r) }} \
            WHERE NOT keeps){% endfor %} AS finer
    FROM regrouped_classes AS c
    LEFT JOIN class_originals AS r ON r.number = c.number
)
FROM counted
