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
        attribute, code, steps, width, \
        (CASE WHEN reach IN (0, steps) THEN position ELSE round(position / reach * steps) END)::HUGEINT AS step
    FROM (
        {% for q in numbers %}
        SELECT
            {{ q.i }} AS attribute, code, position, max(position) OVER () AS reach, {% if q.family.in_steps %}\
                CASE WHEN reach = 0 THEN 1 ELSE least(reach, 1099511627776) END\
                {% else %}1099511627776{% endif %}::DOUBLE AS steps, \
                {{ q.family.width|filled(gap=sql('reach'), scale=q.scale) }} AS width
        {% if suppress %}
        {# Distances from a far smaller value that was suppressed may be equal as doubles. #}
        FROM (
            SELECT code, {{ gap(q, sql('value'), sql('least_value')) }} AS position
            FROM (
                SELECT code, value, min(value) OVER () AS least_value FROM {{ 'domain'|of(q) }}
                WHERE code IN (SELECT e.{{ 'code'|of(q) }} FROM cluster_parts AS p JOIN code_groups AS e \
                    USING (gid) WHERE p.cluster <> -1)
            )
        )
        {% else %}
        FROM {{ 'domain'|of(q) }}
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
        SELECT
            g.class_id, {{ column_numbers(quasi) }} AS attribute, \
            unnest([{% for q in quasi %}{% set filled = sql('sum(x.', 'filled'|of(q), ')') %}\
            {{ filled }} > 0 AND (min(x.{{ 'low'|of(q) }}) <> max(x.{{ 'high'|of(q) }}) OR {{ filled }} < sum(x.size))\
            {{ sql(', ') if not loop.last }}{% endfor %}]) AS is_varied
        FROM generalized_spans AS g
        JOIN span_ranges AS x USING (span)
        GROUP BY g.class_id
    )
    WHERE is_varied
),
-- One row per quasi-identifier, code, and cluster or class of records that differ\
    {% if numbers %} (of a number also for all records){% endif %}: number of records.
code_sizes AS (
    SELECT cluster, class_id, attribute, code, sum(size) AS size
    FROM (
        SELECT p.cluster, g.class_id, p.last - p.first + 1 AS size, {{ column_numbers(quasi) }} AS attribute, \
            unnest({{ derived_list(quasi, sql('e.'), 'code') }}) AS code
        FROM cluster_parts AS p JOIN cluster_spans USING (cluster) JOIN generalized_spans AS g USING (span) \
            JOIN code_groups AS e USING (gid)
        WHERE g.class_id IN (SELECT class_id FROM varied_columns)
    ) SEMI JOIN varied_columns USING (class_id, attribute)
    GROUP BY GROUPING SETS ((cluster, attribute, code), (class_id, attribute, code))
    {% if numbers %}
    UNION ALL
    SELECT NULL, NULL, attribute, code, sum(size)
    FROM (
        SELECT p.last - p.first + 1 AS size, {{ column_numbers(numbers) }} AS attribute, \
            unnest({{ derived_list(numbers, sql('e.'), 'code') }}) AS code
        FROM cluster_parts AS p JOIN cluster_spans USING (cluster) JOIN code_groups AS e USING (gid)
    )
    GROUP BY attribute, code
    {% endif %}
),
-- One row per quasi-identifier, and cluster or class or neither (all records): the number of records with a value
-- (filled); of a number the sum of squared distances to the mean (variation); and the square error, which is over the
-- range of a number, the records without the most frequent category, or all records of a group with NULLs and values.
dispersions AS MATERIALIZED (
    SELECT
        *{% if numbers %}, total::DOUBLE / filled AS mean, (total - filled * least)::DOUBLE AS above_least,
        {# Around the least value of the group: the squares stay small. #}
        greatest(0, (squares - 2 * least * total + filled * least * least)::DOUBLE \
        - above_least / filled * above_least) AS variation{% endif %},
        CASE WHEN filled = 0 THEN 0 WHEN filled < size THEN size \
        {% if numbers %}WHEN steps IS NOT NULL THEN variation / (steps * steps) {% endif %}ELSE size - most END AS error
    FROM (
        SELECT
            cluster, class_id, attribute, sum(size) AS size, max(size) AS most, \
            coalesce(sum(size) FILTER (WHERE code IS NOT NULL), 0) AS filled\
            {% if numbers %},
            any_value(steps) AS steps, any_value(width) AS width, min(step) AS least, \
            sum(size * step) AS total, sum(size * step * step) AS squares{% endif +%}
        FROM code_sizes{% if numbers %} LEFT JOIN number_steps USING (attribute, code){% endif +%}
        GROUP BY cluster, class_id, attribute
    )
),
-- One row per quasi-identifier: the square error by classes and by clusters, {% if numbers %}the share of a number's \
    variation that is within classes, {% endif %}and the share of records whose published value reveals nothing.
column_totals AS MATERIALIZED (
    SELECT
        attribute, detail, is_number, hidden_share,
        coalesce(sum(error ORDER BY class_id ASC) FILTER (WHERE class_id IS NOT NULL), 0.0) AS class_error,
        coalesce(sum(error ORDER BY cluster ASC) FILTER (WHERE cluster IS NOT NULL), 0.0) AS cluster_error\
        {% if numbers %},
        {# Of z-scores every column has the same total (SST), so the share of all is the average of the columns'. Of one
           column, f of the n records of a group known: their squares around their mean, and f (n - f) / n for each
           square of what lies between the known and the NULLs: between their means, and between the two axes. #}
        any_value(width) AS width, CASE WHEN any_value(whole.variance) IS NOT NULL THEN coalesce(sum((
            variation + part.filled::DOUBLE * (part.size - part.filled)::DOUBLE / part.size \
            * ((part.mean - whole.mean) * (part.mean - whole.mean) + whole.variance)
        ) / (whole.variance * whole.filled * (1 + (whole.size - whole.filled)::DOUBLE / whole.size)) \
            ORDER BY class_id ASC) FILTER (WHERE class_id IS NOT NULL AND part.filled > 0), 0.0) END \
            AS sse_share{% endif +%}
    FROM (
        VALUES {% for q in quasi %}({{ q.i }}, {{ q.label }}, {{ sql('true') if q.is_number else sql('false') }})\
            {{ sql(', ') if not loop.last }}{% endfor +%}
    ) AS names (attribute, detail, is_number)
    LEFT JOIN dispersions AS part USING (attribute)
    {% if numbers %}
    LEFT JOIN (SELECT attribute, size, filled, mean, variation / filled AS variance \
        FROM dispersions WHERE class_id IS NULL AND cluster IS NULL AND variation > 0) AS whole USING (attribute)
    {% endif %}
    LEFT JOIN (
        SELECT
            attribute, coalesce(sum(size) FILTER (WHERE {% if counts_used_leaves %}is_whole{% else %}leaves >= 1\
            {% endif %}), 0)::DOUBLE / sum(size) AS hidden_share
        FROM column_losses
        GROUP BY attribute
    ) USING (attribute)
    GROUP BY ALL
),
