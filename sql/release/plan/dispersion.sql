{#- The dispersion of records around the center of their cluster or class. Values are those that are clustered: after
    top and bottom coding and min_level. A number is measured in whole steps of its range in the released records, so
    sums are exact integers and do not depend on order. -#}
{%- from 'release/plan/number_column.sql' import gap with context -%}
{%- from 'release/plan/column_rows.sql' import column_numbers, derived_list -%}
{#- The columns, as attribute, and whether records differ in each. If none has a value, they do not. -#}
{% macro varied_columns(condition) -%}
{{ column_numbers(quasi) }} AS attribute, unnest([{% for q in quasi %}\
                {{ condition|filled(low='low'|of(q), high='high'|of(q), filled='filled'|of(q)) }}\
                {{ sql(', ') if not loop.last }}{% endfor %}]) AS is_varied
{%- endmacro %}
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
-- One row per class and quasi-identifier (attribute) in which its records differ: equal records have no dispersion.
varied_columns AS MATERIALIZED (
    SELECT class_id, attribute
    FROM (
        SELECT g.class_id, {{ varied_columns(sql('sum(x.{filled}) > 0 \
            AND (min(x.{low}) <> max(x.{high}) OR sum(x.{filled}) < sum(x.size))')) }}
        FROM generalized_spans AS g
        JOIN span_ranges AS x USING (span)
        GROUP BY g.class_id
    )
    WHERE is_varied
),
-- One row per part of a group and such a quasi-identifier: its cluster, its class, its code, its size.
part_codes AS MATERIALIZED (
    SELECT p.*
    FROM (
        SELECT p.cluster, g.span, g.class_id, p.last - p.first + 1 AS size, {{ column_numbers(quasi) }} AS attribute, \
            unnest({{ derived_list(quasi, sql('e.'), 'code') }}) AS code
        FROM cluster_parts AS p
        JOIN cluster_spans AS c USING (cluster)
        JOIN generalized_spans AS g USING (span)
        JOIN code_groups AS e USING (gid)
        WHERE g.class_id IN (SELECT class_id FROM varied_columns)
    ) AS p
    SEMI JOIN varied_columns AS v ON v.class_id = p.class_id AND v.attribute = p.attribute
),
-- One row per level (cluster, class, all records), group of records at this level (id) and quasi-identifier in which
-- they differ (for all records: per number): how many records have a value (filled), the least of a number, and the sum
-- of its squared distances to their mean (variation); the square error, over the range of a number, or the number of
-- records without the most frequent category. In a group with NULLs and values, each record counts 1.
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
                SELECT 'cluster' AS level, p.cluster AS id, p.attribute, p.code, sum(p.size) AS size
                FROM part_codes AS p
                SEMI JOIN (
                    SELECT span, {{ varied_columns(sql('{filled} > 0 AND ({low} <> {high} OR {filled} < size)')) }}
                    FROM span_ranges
                ) AS s ON s.span = p.span AND s.attribute = p.attribute AND s.is_varied
                GROUP BY ALL
                UNION ALL
                SELECT 'class', class_id, attribute, code, sum(size) FROM part_codes GROUP BY ALL
                {% if numbers %}
                UNION ALL
                SELECT 'all', 0, attribute, code, sum(size)
                FROM (
                    SELECT p.last - p.first + 1 AS size, {{ column_numbers(numbers) }} AS attribute, \
                        unnest({{ derived_list(numbers, sql('e.'), 'code') }}) AS code
                    FROM cluster_parts AS p
                    JOIN cluster_spans AS c USING (cluster)
                    JOIN code_groups AS e USING (gid)
                )
                GROUP BY ALL
                {% endif %}
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
