{#- A check of parts of a release against the models: for original rows (relation `source`) with their published class
    (`placed`, the same rows in the same order) and the number of records that each represents. All records of a class
    are among them. One row per model: the measure of the worst class, and how many classes do not meet it; model -1 is
    the least number of persons, if they are declared. -#}
{%- from 'privacy_models/is_satisfied.sql' import met -%}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{% set orders = model_columns|selectattr('tree')|map(attribute='tree')|list %}
WITH RECURSIVE
{% for s in model_columns %}
{{ 'larger'|of(s) }} AS MATERIALIZED (
    SELECT {{ unchanged[s.u].value }} AS {{ s.column }}, \
        {% if s.tree %}{{ s.tree.value }} AS {{ 'category'|of(s) }}, \
        {% endif %}sum({{ whole_table.size }})::BIGINT AS size
    FROM {{ whole_table.sensitive[s.i] }}
    GROUP BY ALL
),
{% endfor %}
source AS MATERIALIZED (
    SELECT rowid AS rid{% for s in model_columns %}, {{ unchanged[s.u].value }} AS {{ s.column }}{% endfor %}\
        {% if person %}, {{ read_person }} AS person{% endif %}
    FROM {{ origin }}
),
record_classes AS MATERIALIZED (SELECT rowid AS rid, class_id, size FROM {{ shown }}),
released_values AS MATERIALIZED (
    SELECT p.class_id{% for s in model_columns %}, s.{{ s.column }}{% endfor %}, sum(p.size)::BIGINT AS size
    FROM source AS s JOIN record_classes AS p USING (rid)
    GROUP BY ALL
),
{% if orders %}
{{ all_trees(orders, none, whole_table) }}
{% endif %}
{% include 'gate/model_measures.sql' %}
worst AS (
    {% if person %}
    SELECT -1 AS model, min(size)::DOUBLE AS value, count(*) FILTER (WHERE size < {{ k }}) AS missed
    FROM (SELECT count(DISTINCT s.person) AS size FROM source AS s JOIN record_classes AS p USING (rid) \
        GROUP BY p.class_id)
    {% if demanded %}UNION ALL{% endif %}
    {% endif %}
    {% for s in model_columns %}{% set last = loop.last %}{% for m in s.models %}
    SELECT {{ m.number }} AS model, {% if m.higher %}min{% else %}max{% endif %}(value)::DOUBLE AS value, \
        ((SELECT count(*) FROM {{ 'class sizes'|of(s) }}) - count(*) FILTER (WHERE {{ met(m) }}))::BIGINT AS missed
    FROM {{ ('measured ' ~ m.label)|of(m) }}
    {% if not (last and loop.last) %}UNION ALL{% endif %}
    {% endfor %}{% endfor %}
)
FROM worst
