{#- NAME_classes('table', ...) of noise: one row per class, with the frequency of each published value, and one per
    reason why records were suppressed or dropped. -#}
{%- from 'shared/record_assignment.sql' import reasons with context -%}
{% include 'release/noise/pipeline.sql' %},
{% include 'release/plan/metric_inputs.sql' %},
{% macro counted(column) -%}
(SELECT list(struct_pack(value := v.value, size := v.size) ORDER BY v.size DESC, v.value ASC NULLS LAST) \
    FROM {{ column }} AS v WHERE v.class_id = c.class_id)
{%- endmacro %}
-- One row per class, and one per reason why records were suppressed or dropped.
class_rows AS MATERIALIZED (
SELECT
    c.class_id AS {{ class_id }},
    c.size AS {{ names.size }}
    {% if person %}, c.persons AS {{ names.persons }}{% endif %}
    {% for q in quasi %}
    , {{ counted(sql('(SELECT class_id, value, size::BIGINT AS size FROM ', 'published values'|of(q), ')')) }} AS {{ \
        q.name }}
    {% endfor %}
    {% if suppress %}, c.reason AS {{ names.suppressed }}{% endif %}
    {% for u in unchanged if u.is_sensitive %}
    , {{ counted('in classes'|of(u)) }} AS {{ u.name }}
    {% endfor %}
FROM {% if suppress %}(
    SELECT *, NULL AS reason FROM sized_classes
    UNION ALL BY NAME
    {{ reasons() }}
){% else %}sized_classes{% endif %} AS c
),
{% include 'gate/gate_classes.sql' %}
SELECT *
FROM class_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check)
ORDER BY {{ class_id }} ASC NULLS LAST{% if suppress %}, {{ names.suppressed }} ASC{% endif %}
