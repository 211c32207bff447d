{#- The value of each class for a kind of risk: a SELECT of (kind, class_id, value); classes without a row have the
    value 0. -#}
{%- from 'audit/query_error/hierarchy_leaves.sql' import keys_of -%}
{% macro value(n) %}
{% set class_values = 'class values'|of(sensitive[n.i]) if n.i is not none else none %}
{% if n.of == 'prosecutor' %}
{# Records without a known person count as those of one person. #}
    SELECT {{ n.kind }} AS kind, class_id, 1.0::DOUBLE / greatest(size, 1) AS value FROM classes
{% elif n.of == 'journalist' and fraction %}
    SELECT {{ n.kind }} AS kind, class_id, {{ fraction }} / greatest(size, 1) AS value FROM classes
{% elif n.of == 'journalist' %}
{# The released people belong to the population, even if its table does not have them. #}
    SELECT {{ n.kind }} AS kind, k.class_id, 1.0::DOUBLE / greatest(k.size, coalesce(p.people, 0), 1) AS value
    FROM classes AS k
    LEFT JOIN class_populations AS p USING (class_id)
{% elif n.of == 'single' %}
    SELECT {{ n.kind }} AS kind, class_id, 1 AS value FROM classes WHERE size <= 1
{% elif n.of == 'unique' %}
    SELECT {{ n.kind }} AS kind, k.class_id, 1 AS value
    FROM classes AS k
    LEFT JOIN class_populations AS p USING (class_id)
    WHERE greatest(k.size, coalesce(p.people, 0)) <= 1
{% elif n.of == 'mean_share' %}
    {# The value of the kind dominant_share, too, which is always computed with it. #}
    SELECT
        unnest([{{ n.kind }}, {{ n.dominant_kind }}]) AS kind, class_id,
        unnest([avg(greatest(1, v.size) / k.size), max(greatest(1, v.size) / k.size)]) AS value
    FROM {{ class_values }} AS v
    JOIN classes AS k USING (class_id)
    WHERE v.value IS NOT NULL
    GROUP BY class_id
{% elif n.of == 'exposure' %}
{# The dominant value is that of the whole table. Of a sample of the classes both sums are of its classes: every class
    is equally likely in it, so their ratio estimates that of all, with a bias that vanishes as the sample grows. #}
    {% set is_leading %}size {% if ties %}>= sizes[1]{% else %}> coalesce(sizes[2], 0){% endif %}{% endset %}
    SELECT
        {{ n.kind }} AS kind, class_id,
        CASE WHEN {{ is_leading }} THEN size::DOUBLE / sum(size) OVER () ELSE 0 END AS value
    FROM (
        SELECT class_id, max(v.size, 2) AS sizes, max(v.size) FILTER (WHERE v.value = m.value) AS size
        FROM {{ class_values }} AS v
        CROSS JOIN (
            SELECT value
            FROM {{ 'values'|of(sensitive[n.i]) }}
            WHERE value IS NOT NULL
            ORDER BY size DESC, value ASC
            LIMIT 1
        ) AS m
        WHERE v.value IS NOT NULL
        GROUP BY class_id
    )
    WHERE size IS NOT NULL{% if sample %} AND class_id IN (SELECT class_id FROM sampled_classes){% endif +%}
{% elif n.of == 'full_record' %}
    {% set size = sql('greatest(count(DISTINCT person), 1)' if person else 'sum(records)::BIGINT') %}
    SELECT {{ n.kind }} AS kind, class_id, min(size) AS value
    FROM (
        SELECT class_id, {{ size }} AS size
        FROM class_cells
        GROUP BY class_id{% for name in unchanged_columns %}, {{ name }}{% endfor +%}
    )
    GROUP BY class_id
{% elif n.of == 'distortion' %}
    SELECT {{ n.kind }} AS kind, class_id, distortion AS value FROM class_distortions
{% else %}
    SELECT {{ n.kind }} AS kind, class_id, 1 AS value FROM class_distortions WHERE is_infeasible
{% endif %}
{% endmacro %}
{#- class_distortions (class_id, distortion, is_infeasible): the levels by which the values of a class were generalized,
    and whether one of them is too vague or too wide to answer queries. -#}
{% macro class_distortions(columns) %}
{{ distortions(columns) }}
-- One row per class: its distortion, and whether one of its values is too vague or too wide to answer queries.
class_distortions AS MATERIALIZED (
    SELECT
        k.class_id, sum(c.weight * d.raised_share) AS distortion,
        bool_or(d.is_vague OR coalesce(d.width > {{ max_interval_share }}, false)) AS is_infeasible
    FROM published_columns AS k
    JOIN distortions AS d ON d.attribute = k.attribute AND d.published = k.published
    JOIN compared_columns AS c ON c.attribute = k.attribute{% if others %} AND c.weight IS NOT NULL{% endif +%}
    GROUP BY k.class_id
),
{% endmacro %}
{#- distortions (attribute, published, raised_share, width, is_vague): the distance of a published value from an
    original one, as a share of levels; its width as a share of the column's range (NULL if it is not a number);
    whether it is `*`, the root or open. A number without a hierarchy has no levels: its width is used instead. A
    category without one has two: the value, and any text that represents several values. -#}
{% macro distortions(columns) %}
{% set numbers = columns|selectattr('is_number')|list %}
{% set categories = columns|rejectattr('is_number')|list %}
{% set trees = columns|selectattr('has_hierarchy')|list %}
{% set numeric_trees = trees|selectattr('is_numeric')|list %}
{% if numbers or numeric_trees %}
-- One row per column of numbers: the range of its values in the source.
source_ranges AS MATERIALIZED (
    {% for c in numbers %}
    SELECT {{ c.key }} COLLATE POSIX AS attribute, min({{ c.column }}) AS low, max({{ c.column }}) AS high
    FROM source_cells
    {% if not loop.last or numeric_trees %}UNION ALL{% endif +%}
    {% endfor %}
    {% if numeric_trees %}
    SELECT attribute, min(TRY_CAST(value AS DOUBLE)) AS low, max(TRY_CAST(value AS DOUBLE)) AS high
    FROM raw_categories
    WHERE attribute IN {{ keys_of(numeric_trees) }}
    GROUP BY attribute
    {% endif %}
),
{% endif %}
-- One row per published text of a column: how much it is generalized, which distortion and infeasible classes count.
distortions AS MATERIALIZED (
    {% if numbers %}
    {# An exact value has no width, even in a constant column, whose range is 0 too. #}
    SELECT
        attribute, published, CASE WHEN published = '*' THEN 1 ELSE width END AS raised_share, width,
        published = '*' OR is_open_below OR is_open_above AS is_vague
    FROM (
        SELECT
            r.*, CASE WHEN r.is_open_below THEN least(r.low, s.low) ELSE r.low END AS least_value,
            CASE WHEN r.is_open_above THEN greatest(r.high, s.high) ELSE r.high END AS max_value,
            CASE
                WHEN max_value = least_value THEN 0.0
                ELSE coalesce(least(1.0, (max_value - least_value) / nullif(s.high - s.low, 0)), 1.0)
            END AS width
        FROM readings AS r
        LEFT JOIN source_ranges AS s USING (attribute)
        WHERE r.attribute IN {{ keys_of(numbers) }}
    )
    {% endif %}
    {% if numbers and categories %}
    UNION ALL
    {% endif %}
    {% if categories %}
    {# Whatever the label of the root is, `*` means it. #}
    {% set max_level %}{% if norm %}greatest(t.levels - 1, 1){% else %}t.levels{% endif %}{% endset %}
    SELECT
        r.attribute, r.published,
        coalesce(t.levels - CASE WHEN r.published = '*' THEN 1 ELSE r.depth END, 0)::DOUBLE / {{ max_level }}
        {{- sql(' AS raised_share') }},
        {% if numeric_trees %}
        (TRY_CAST(b.value AS DOUBLE) - TRY_CAST(a.value AS DOUBLE)) / nullif(s.high - s.low, 0) AS width,
        {% else %}
        NULL::DOUBLE AS width,
        {% endif %}
        r.published = '*'{% if trees %} OR (r.depth = 1 AND t.is_tree) IS true{% endif %} AS is_vague
    FROM readings AS r
    JOIN (
        {% if trees %}
        SELECT attribute, max(len(labels)) AS levels, true AS is_tree FROM nodes GROUP BY attribute
        {% endif %}
        {% for c in categories if not c.has_hierarchy %}
        {% if trees or not loop.first %}UNION ALL{% endif +%}
        SELECT {{ c.key }}, 2, false
        {% endfor %}
    ) AS t (attribute, levels, is_tree) ON t.attribute = r.attribute
    {% if numeric_trees %}
    LEFT JOIN source_ranges AS s ON s.attribute = r.attribute
    LEFT JOIN leaves AS a ON a.attribute = s.attribute AND a.place = r.low
    LEFT JOIN leaves AS b ON b.attribute = s.attribute AND b.place = r.high
    {% endif %}
    {% endif %}
),
{% endmacro %}
