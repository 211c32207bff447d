{#- The dispersion of records around the center of their cluster or class: `spread` has one row for each of these two
    levels, with the square error of every number, over the range of the column in the released records, and of all
    categories together: the records that do not have the mode. A group of NULLs has none; in a group with NULLs and
    values each record counts as 1. Values are those that are clustered: after top and bottom coding and min_level.
    Sums are exact integers, so they do not depend on order. Only records of classes with different values are read.
    -#}
{%- from 'shared/small_relation_hint.sql' import few, end_few -%}
{%- from 'release/plan/number_column.sql' import gap with context -%}
{% for q in quasi if q.is_number %}
{% if suppress %}
-- One row per value of the released records: its distance from the least of them. It is computed from the values, as
-- distances from a far smaller value that was suppressed may be equal as doubles.
{{ 'released values'|of(q) }} AS MATERIALIZED (
    SELECT code, {{ gap(q, sql('value'), sql('least_value')) }} AS position
    FROM (
        SELECT code, value, min(value) OVER () AS least_value
        FROM {{ 'domain'|of(q) }}
        WHERE code IN (SELECT e.{{ 'code'|of(q) }} FROM cluster_parts AS p JOIN code_groups AS e USING (gid) \
            WHERE p.cluster <> -1)
    )
),
{% endif %}
-- One row: how far apart the values are, in how many whole steps that is measured (2^40 where those of the type are
-- too many), and the width in the column's unit or in days.
{{ 'range'|of(q) }} AS MATERIALIZED (
    SELECT reach, {% if q.family.in_steps %}CASE WHEN reach = 0 THEN 1 WHEN reach <= 1099511627776 THEN reach \
        ELSE 1099511627776 END{% else %}1099511627776{% endif %}::DOUBLE AS steps,
        {#- The range in the unit of the column, or in days. #}
        {{ q.family.width|filled(gap=sql('reach'), scale=q.scale) }} AS width
    FROM (SELECT max(position) AS reach FROM {{ 'released values'|of(q) if suppress else 'domain'|of(q) }})
),
-- One row per code: its distance from the least value, in whole steps.
{{ 'steps'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    SELECT d.code, (CASE WHEN r.reach = 0 THEN 0 WHEN r.reach = r.steps THEN d.position \
        ELSE round(d.position / r.reach * r.steps) END)::HUGEINT AS step
    FROM {{ 'released values'|of(q) if suppress else 'domain'|of(q) }} AS d, {{ 'range'|of(q) }} AS r
    {{ end_few() }}
),
{% endfor %}
-- One row per part of a group in a class with different values: its values and its size.
cluster_members AS MATERIALIZED (
    SELECT p.cluster, v.class_id, p.last - p.first + 1 AS size{% for q in quasi %}, \
        {% if q.is_number %}{{ 'steps'|of(q) }}.step AS {{ 'value'|of(q) }}\
        {% else %}e.{{ 'code'|of(q) }} AS {{ 'value'|of(q) }}{% endif %}{% endfor %}
    FROM cluster_parts AS p
    JOIN (
        SELECT c.cluster, class_id
        FROM cluster_spans AS c
        JOIN generalized_spans USING (span)
        JOIN (
            SELECT g.class_id
            FROM span_ranges AS x
            JOIN generalized_spans AS g USING (span)
            GROUP BY g.class_id
            HAVING false{% for q in quasi %} OR min(x.{{ 'low'|of(q) }}) < max(x.{{ 'high'|of(q) }}) \
                OR sum(x.{{ 'filled'|of(q) }}) < sum(x.size){% endfor %}
        ) USING (class_id)
    ) AS v USING (cluster)
    JOIN code_groups AS e USING (gid)
    {% for q in quasi if q.is_number %}
    LEFT JOIN {{ 'steps'|of(q) }} AS {{ 'steps'|of(q) }} ON {{ 'steps'|of(q) }}.code = e.{{ 'code'|of(q) }}
    {% endfor %}
),
{% macro squares(q) %}
    {#- Around the least value of the group: the squares stay small. -#}
    CASE WHEN {{ 'filled'|of(q) }} = 0 THEN 0 WHEN {{ 'filled'|of(q) }} < size THEN size ELSE greatest(0,
        ({{ 'squares'|of(q) }} - 2 * {{ 'least'|of(q) }} * {{ 'sum'|of(q) }} + size * {{ 'least'|of(q) }} \
            * {{ 'least'|of(q) }})::DOUBLE
        - ({{ 'sum'|of(q) }} - size * {{ 'least'|of(q) }})::DOUBLE / size \
            * ({{ 'sum'|of(q) }} - size * {{ 'least'|of(q) }})::DOUBLE
    ) / ({{ 'range'|of(q) }}.steps * {{ 'range'|of(q) }}.steps) END
{%- endmacro %}
{% set numbers = quasi|selectattr('is_number')|list %}
{% set categories = quasi|rejectattr('is_number')|list %}
{% set values %}{% for q in categories %}{% if not loop.first %}, {% endif %}{{ 'value'|of(q) }}{% endfor %}{% endset %}
{% set place %}{% if categories|length > 1 %}GROUPING({{ values }}){% else %}0{% endif %}{% endset %}
{% if numbers %}
-- One row per cluster: the sum and the sum of squares of each number.
cluster_moments AS MATERIALIZED (
    SELECT
        cluster, class_id, sum(size)::HUGEINT AS size
        {% for q in numbers %}
        , coalesce(sum(size) FILTER (WHERE {{ 'value'|of(q) }} IS NOT NULL), 0)::HUGEINT AS {{ 'filled'|of(q) }}, \
            min({{ 'value'|of(q) }}) AS {{ 'least'|of(q) }}
        , sum(size * {{ 'value'|of(q) }}) AS {{ 'sum'|of(q) }}, \
            sum(size * {{ 'value'|of(q) }} * {{ 'value'|of(q) }}) AS {{ 'squares'|of(q) }}
        {% endfor %}
    FROM cluster_members
    GROUP BY cluster, class_id
),
{% endif %}
{% if categories %}
-- One row per cluster, category column and value: how many records have it.
category_counts AS MATERIALIZED (
    SELECT cluster, class_id, {{ place }} AS attribute, {% if categories|length > 1 %}coalesce({{ values }})\
        {% else %}{{ values }}{% endif %} AS value, sum(size) AS size
    FROM cluster_members
    GROUP BY GROUPING SETS ({% for q in categories %}{% if not loop.first %}, {% endif %}(cluster, class_id, \
        {{ 'value'|of(q) }}){% endfor %})
),
{% endif %}
-- One row per level (class and cluster): the squared error of each number, and of all categories together.
square_errors AS MATERIALIZED (
    {% for level, key in (('class', 'class_id'), ('cluster', 'cluster')) %}
    SELECT '{{ sql(level) }}' AS level, {% if categories %}categories.error{% else %}0{% endif %} AS categories\
        {% for q in numbers %}, numbers.{{ 'error'|of(q) }}{% endfor %}
    FROM {% if numbers %}(
        SELECT {% for q in numbers %}{% if not loop.first %}, \
            {% endif %}coalesce(sum({{ squares(q) }} ORDER BY id ASC), 0.0) AS {{ 'error'|of(q) }}{% endfor %}
        FROM {% if level == 'class' %}(
            SELECT
                class_id AS id, sum(size)::HUGEINT AS size
                {% for q in numbers %}
                , sum({{ 'filled'|of(q) }}) AS {{ 'filled'|of(q) }}, min({{ 'least'|of(q) }}) AS {{ 'least'|of(q) }}
                , sum({{ 'sum'|of(q) }}) AS {{ 'sum'|of(q) }}, sum({{ 'squares'|of(q) }}) AS {{ 'squares'|of(q) }}
                {% endfor %}
            FROM cluster_moments
            GROUP BY class_id
        ){% else %}(SELECT *, cluster AS id FROM cluster_moments){% endif %} AS m{% for q in numbers %}, \
            {{ 'range'|of(q) }} AS {{ 'range'|of(q) }}{% endfor %}
    ) AS numbers{% endif %}
    {% if numbers and categories %}, {% endif %}
    {% if categories %}(
        SELECT coalesce(sum(CASE WHEN filled = 0 THEN 0 WHEN filled < size THEN size ELSE size - most END), 0) AS error
        FROM (
            SELECT max(size) AS most, sum(size) AS size, \
                coalesce(sum(size) FILTER (WHERE value IS NOT NULL), 0) AS filled
            FROM {% if level == 'class' %}(SELECT class_id, attribute, value, sum(size) AS size FROM category_counts \
                GROUP BY ALL){% else %}category_counts{% endif %}
            GROUP BY {{ sql(key) }}, attribute
        )
    ) AS categories{% endif %}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
