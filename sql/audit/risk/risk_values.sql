{#- The value of each class for a kind of risk: a SELECT of (class_id, value); classes without a row have the value 0.
    -#}
{%- from 'audit/query_error/hierarchy_leaves.sql' import keys_of -%}
{% macro value(n) %}
{% if n.of == 'prosecutor' or (n.of == 'marketer' and not others and not fraction) %}
{# Records without a known person count as those of one person. #}
        SELECT class_id, 1.0::DOUBLE / greatest(size, 1) AS value FROM classes
{% elif n.of in ('journalist', 'marketer') and fraction %}
        SELECT class_id, {{ fraction }} / greatest(size, 1) AS value FROM classes
{% elif n.of in ('journalist', 'marketer') %}
{# The released people belong to the population, even if its table does not have them. #}
        SELECT k.class_id, 1.0::DOUBLE / greatest(k.size, coalesce(p.people, 0), 1) AS value
        FROM classes AS k
        LEFT JOIN class_populations AS p USING (class_id)
{% elif n.of == 'single' %}
        SELECT class_id, 1 AS value FROM classes WHERE size <= 1
{% elif n.of == 'unique' %}
        SELECT k.class_id, 1 AS value
        FROM classes AS k
        LEFT JOIN class_populations AS p USING (class_id)
        WHERE greatest(k.size, coalesce(p.people, 0)) <= 1
{% elif n.of in ('mean_share', 'dominant_share') %}
        SELECT v.class_id, {{ sql('avg' if n.of == 'mean_share' else 'max') }}(greatest(1, v.size) / k.size) AS value
        FROM {{ 'class values'|of(sensitive[n.i]) }} AS v
        JOIN classes AS k USING (class_id)
        WHERE v.value IS NOT NULL
        GROUP BY v.class_id
{% elif n.of == 'exposure' %}
{# The dominant value is that of the whole table. Of a sample of the classes both sums are of its classes: every class
    is equally likely in it, so their ratio estimates that of all, with a bias that vanishes as the sample grows. #}
        SELECT
            d.class_id,
            CASE
                WHEN d.size {% if ties %}={% else %}>{% endif %} (
                    SELECT
                        {% if ties %}max(size){% else %}coalesce(list_sort(list(size), 'DESC', 'NULLS LAST')[2],
                            0){% endif +%}
                    FROM {{ 'class values'|of(sensitive[n.i]) }} AS v
                    WHERE v.class_id = d.class_id AND v.value IS NOT NULL
                ) THEN d.size::DOUBLE / d.total_size
                ELSE 0
            END AS value
        FROM (
            SELECT v.class_id, v.size, sum(v.size) OVER () AS total_size
            FROM {{ 'class values'|of(sensitive[n.i]) }} AS v
            JOIN (
                SELECT value
                FROM {{ 'values'|of(sensitive[n.i]) }}
                WHERE value IS NOT NULL
                ORDER BY size DESC, value ASC
                LIMIT 1
            ) AS m ON m.value = v.value
            {% if sample %}
            SEMI JOIN sampled_classes USING (class_id)
            {% endif %}
        ) AS d
{% elif n.of == 'full_record' %}
        SELECT class_id, min(size) AS value
        FROM (
            SELECT
                k.class_id,
                {% if person %}greatest(count(DISTINCT c.person), 1){% else %}sum(c.records)::BIGINT{% endif %} AS size
            FROM release_cells AS c
            JOIN classes AS k
                ON {% for q in quasi %}k.{{ q.column }} IS NOT DISTINCT FROM c.{{ q.column }}{% if not loop.last %}

                AND {% endif %}{% endfor +%}
            GROUP BY k.class_id{% for u in unchanged %}, c.{{ 'unchanged'|of(u) }}{% endfor +%}
        )
        GROUP BY class_id
{% elif n.of == 'distortion' %}
        SELECT class_id, distortion AS value FROM class_distortions
{% else %}
        SELECT class_id, 1 AS value FROM class_distortions WHERE is_infeasible
{% endif %}
{% endmacro %}
{#- class_distortions (class_id, distortion, is_infeasible): the levels by which the values of a class were generalized,
    and whether one of them is too vague or too wide to answer queries. -#}
{% macro class_distortions(columns) %}
{{ distortions(columns) }}
-- One row per class: its distortion, and whether one of its values is too vague or too wide to answer queries.
class_distortions AS MATERIALIZED (
    SELECT
        k.class_id,
        0.0::DOUBLE
        {% for c in columns %}
            + {{ c.influence }} * coalesce({{ 'distortion'|of(c) }}.raised_share, 0)
        {% endfor %}
        AS distortion,
        false
        {% for c in columns %}
        {% set distortion = 'distortion'|of(c) %}
            OR coalesce({{ distortion }}.is_vague OR {{ distortion }}.width > {{ max_interval_share }}, false)
        {% endfor %}
        AS is_infeasible
    FROM classes AS k
    {% for c in columns %}
    {% set distortion = 'distortion'|of(c) %}
    LEFT JOIN distortions AS {{ distortion }}
        ON {{ distortion }}.attribute = {{ c.key }} AND {{ distortion }}.published = k.{{ c.column }}
    {% endfor %}
),
{% endmacro %}
{#- distortions (attribute, published, raised_share, width, is_vague): how far a published value is from an original
    one, as a share of levels; its width as a share of the column's range (NULL if it is no number); whether it is
    `*`, the root or open. A number without a hierarchy has no levels: its width is used instead. A category without
    one has two: the value, and anything that stands for several. -#}
{% macro distortions(columns) %}
{% set numbers = columns|selectattr('is_number')|list %}
{% set trees = columns|selectattr('rows')|list %}
{% set flat = columns|rejectattr('is_number')|rejectattr('rows')|list %}
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
{% if trees %}
-- One row per text that a node of a hierarchy may be published as; the depth of an inner node is counted from the root.
node_names AS MATERIALIZED (
    SELECT
        attribute, unnest([label, array_to_string(labels[2:], ' > ')]) AS name, len(labels) AS depth, false AS is_leaf
    FROM nodes
    WHERE NOT is_leaf
    UNION ALL
    SELECT l.attribute, unnest([CASE WHEN n.label IS NULL THEN l.value END, '\' || l.value]), 0, true
    FROM leaves AS l
    LEFT JOIN (SELECT DISTINCT attribute, label FROM nodes WHERE NOT is_leaf) AS n
        ON n.attribute = l.attribute AND n.label = l.value
    UNION ALL
    {# Whatever the label of the root is, `*` means it. #}
    SELECT attribute, CASE WHEN label <> '*' THEN '*' END, 1, false FROM nodes WHERE parent IS NULL
),
{% endif %}
-- One row per published text of a column: how much it is generalized, which distortion and infeasible classes count.
distortions AS MATERIALIZED (
    {% if numbers %}
    SELECT attribute, published, CASE WHEN published = '*' THEN 1 ELSE width END AS raised_share, width, is_vague
    FROM (
        SELECT
            attribute, published, published = '*' OR is_open_below OR is_open_above AS is_vague,
            {# An exact value has no width, even in a constant column, whose range is 0 too. #}
            CASE
                WHEN high = low THEN 0.0
                ELSE coalesce(least(1.0, (high - low) / nullif(column_high - column_low, 0)), 1.0)
            END AS width
        FROM (
            SELECT
                r.attribute, r.published, r.is_open_below, r.is_open_above, s.low AS column_low, s.high AS column_high,
                CASE WHEN is_open_below THEN least(r.low, s.low) ELSE r.low END AS low,
                CASE WHEN is_open_above THEN greatest(r.high, s.high) ELSE r.high END AS high
            FROM (
                SELECT
                    *, starts_with(published, '<=') OR starts_with(published, '[<=') AS is_open_below,
                    regexp_matches(published, '(?:^|, )>=') AS is_open_above
                FROM readings
                WHERE attribute IN {{ keys_of(numbers) }}
            ) AS r
            JOIN source_ranges AS s ON s.attribute = r.attribute
        )
    )
    {% endif %}
    {% if numbers and trees %}
    UNION ALL
    {% endif %}
    {% if trees %}
    SELECT
        r.attribute, r.published,
        any_value(
            CASE WHEN n.is_leaf THEN 0 ELSE t.levels - n.depth END::DOUBLE
            / {% if norm %}greatest(t.levels - 1, 1){% else %}t.levels{% endif +%}
        ) AS raised_share,
        {% if numeric_trees %}
        any_value((TRY_CAST(b.value AS DOUBLE) - TRY_CAST(a.value AS DOUBLE)) / nullif(s.high - s.low, 0)) AS width,
        {% else %}
        NULL::DOUBLE AS width,
        {% endif %}
        r.published = '*' OR any_value(n.depth = 1 AND NOT n.is_leaf) AS is_vague
    FROM readings AS r
    JOIN node_names AS n ON n.attribute = r.attribute AND n.name = r.published
    JOIN (SELECT attribute, max(len(labels)) AS levels FROM nodes GROUP BY attribute) AS t ON t.attribute = r.attribute
    {% if numeric_trees %}
    LEFT JOIN source_ranges AS s ON s.attribute = r.attribute
    LEFT JOIN leaves AS a ON a.attribute = s.attribute AND a.place = r.low
    LEFT JOIN leaves AS b ON b.attribute = s.attribute AND b.place = r.high
    {% endif %}
    WHERE r.attribute IN {{ keys_of(trees) }}
    GROUP BY r.attribute, r.published
    {% endif %}
    {% if (numbers or trees) and flat %}
    UNION ALL
    {% endif %}
    {% if flat %}
    SELECT
        r.attribute, r.published,
        CASE WHEN l.value IS NULL THEN {% if norm %}1{% else %}0.5{% endif %} ELSE 0 END::DOUBLE AS raised_share,
        NULL::DOUBLE AS width, r.published = '*' AS is_vague
    FROM readings AS r
    LEFT JOIN leaves AS l ON l.attribute = r.attribute AND r.published IN (l.value, '\' || l.value)
    WHERE r.attribute IN {{ keys_of(flat) }}
    {% endif %}
),
{% endmacro %}
