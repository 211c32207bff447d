{#- The dispersion of records around the center of their cluster or class. Values are those that are clustered: after
    top and bottom coding and min_level. A number is measured in whole steps of its range in the released records, so
    sums are exact integers and do not depend on order. -#}
{%- from 'release/plan/number_column.sql' import gap with context -%}
{%- from 'release/plan/column_rows.sql' import column_numbers, derived_list -%}
{% set numbers = quasi|selectattr('is_number')|list %}
{% if numbers %}
-- One row per number column (attribute) and code: the distance from the column's least value in whole steps, how many
-- steps its range has (2^40 where those of the type are too many), and the range in the column's unit or in days.
number_steps AS MATERIALIZED (
    SELECT
        attribute, code, steps, width, (CASE WHEN reach = 0 THEN 0 WHEN reach = steps THEN position \
            ELSE round(position / reach * steps) END)::HUGEINT AS step
    FROM (
        {% for q in numbers %}
        SELECT
            {{ q.i }} AS attribute, code, position, reach, {% if q.family.in_steps %}CASE WHEN reach = 0 THEN 1 \
                WHEN reach <= 1099511627776 THEN reach ELSE 1099511627776 END{% else %}1099511627776\
                {% endif %}::DOUBLE AS steps, {{ q.family.width|filled(gap=sql('reach'), scale=q.scale) }} AS width
        {% if suppress %}
        {# Distances from a far smaller value that was suppressed may be equal as doubles. #}
        FROM (
            SELECT *, max(position) OVER () AS reach
            FROM (
                SELECT code, {{ gap(q, sql('value'), sql('least_value')) }} AS position
                FROM (
                    SELECT code, value, min(value) OVER () AS least_value FROM {{ 'domain'|of(q) }}
                    WHERE code IN (SELECT e.{{ 'code'|of(q) }} FROM cluster_parts AS p JOIN code_groups AS e \
                        USING (gid) WHERE p.cluster <> -1)
                )
            )
        )
        {% else %}
        FROM (SELECT code, position, max(position) OVER () AS reach FROM {{ 'domain'|of(q) }})
        {% endif %}
        {% if not loop.last %}UNION ALL{% endif +%}
        {% endfor %}
    )
),
{% endif %}
-- One row per part of a group and quasi-identifier (attribute): its cluster, its class, its code, its size.
part_codes AS MATERIALIZED (
    SELECT p.cluster, g.class_id, p.last - p.first + 1 AS size, {{ column_numbers(quasi) }} AS attribute, \
        unnest({{ derived_list(quasi, sql('e.'), 'code') }}) AS code
    FROM cluster_parts AS p
    JOIN cluster_spans AS c USING (cluster)
    JOIN generalized_spans AS g USING (span)
    JOIN code_groups AS e USING (gid)
),
-- One row per level (cluster, class, all records), group of records at this level (id) and quasi-identifier: how many
-- records have a value (filled), the least of a number, and the sum of its squared distances to their mean (variation);
-- the square error, over the range of a number, or the number of records without the most frequent category. In a group
-- with NULLs and values, each record counts 1.
dispersions AS MATERIALIZED (
    SELECT *, CASE WHEN filled = 0 THEN 0 WHEN filled < size THEN size \
        {% if numbers %}WHEN steps IS NOT NULL THEN variation / (steps * steps) {% endif %}ELSE size - most END AS error
    FROM (
        SELECT *{% if numbers %},
            {# Around the least value of the group: the squares stay small. #}
            greatest(0, (squares - 2 * least * total + filled * least * least)::DOUBLE \
            - (total - filled * least)::DOUBLE / filled * (total - filled * least)::DOUBLE) AS variation{% endif +%}
        FROM (
            SELECT
                level, id, attribute, sum(size) AS size, max(size) AS most, \
                coalesce(sum(size) FILTER (WHERE code IS NOT NULL), 0)::HUGEINT AS filled\
                {% if numbers %},
                any_value(steps) AS steps, min(step) AS least, sum(size * step) AS total, \
                sum(size * step * step) AS squares{% endif +%}
            FROM (
                SELECT 'cluster' AS level, cluster AS id, attribute, code, sum(size) AS size FROM part_codes \
                    GROUP BY ALL
                UNION ALL
                SELECT 'class', class_id, attribute, code, sum(size) FROM part_codes GROUP BY ALL
                UNION ALL
                SELECT 'all', 0, attribute, code, sum(size) FROM part_codes GROUP BY ALL
            )
            {% if numbers %}LEFT JOIN number_steps USING (attribute, code){% endif +%}
            GROUP BY level, id, attribute
        )
    )
),
-- One row per quasi-identifier: the square error of all records, by classes and by clusters.
square_errors AS MATERIALIZED (
    SELECT
        q.attribute, q.detail, q.is_number,
        coalesce(sum(d.error ORDER BY d.id ASC) FILTER (WHERE d.level = 'class'), 0.0) AS class_error,
        coalesce(sum(d.error ORDER BY d.id ASC) FILTER (WHERE d.level = 'cluster'), 0.0) AS cluster_error
    FROM (
        SELECT
            {{ column_numbers(quasi) }} AS attribute,
            unnest([{% for q in quasi %}{{ q.label }}{{ sql(', ') if not loop.last }}{% endfor %}]) AS detail,
            unnest([{% for q in quasi %}{{ sql('true') if q.is_number else sql('false') }}{{ \
                sql(', ') if not loop.last }}{% endfor %}]) AS is_number
    ) AS q
    LEFT JOIN dispersions AS d USING (attribute)
    GROUP BY ALL
),
