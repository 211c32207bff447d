{#- Values of a column that a hierarchy misses, or that a reader could not distinguish from generalized ones. -#}
{#- A text that is equal for spellings of one number or word: 35, 35.0 and 35.00; True and true. -#}
{% macro spelling(value) -%} coalesce(TRY_CAST(trim({{ value }}) AS DECIMAL(38, 12))::VARCHAR, \
    lower(trim({{ value }}))) {%- endmacro %}
WITH
-- One row per node of the hierarchy.
nodes AS (
    {% if rows %}
    {{ rows }}
    {% else %}
    SELECT '*' AS node, NULL AS parent, '*' AS label, 0 AS ord
    {% endif %}
),
-- One row per label of an inner node. The only node of a missing hierarchy counts as one.
inner_labels AS (
    SELECT DISTINCT label
    FROM nodes AS n
    {% if rows %}
    WHERE EXISTS (FROM nodes AS below WHERE below.parent = n.node)
    {% endif %}
),
-- One row per label of a leaf.
leaf_labels AS (SELECT DISTINCT label FROM nodes WHERE label NOT IN (FROM inner_labels)),
-- One row per spelling of leaves: the first of the leaves.
leaf_spellings AS (SELECT {{ spelling(sql('label')) }} AS spelling, min(label) AS label FROM leaf_labels GROUP BY 1),
-- One row per value of the column: how many records have it.
column_values AS (
    SELECT {{ label }} COLLATE POSIX AS value, count(*) AS records
    FROM {{ source }}
    WHERE {{ column }} IS NOT NULL
    GROUP BY 1
)
SELECT
    value, records,
    CASE
        WHEN value = '*' OR value IN (FROM inner_labels) THEN 'reserved'
        ELSE 'missing' || coalesce('; a leaf is written ' || s.label, '')
    END AS problem
FROM column_values LEFT JOIN leaf_spellings AS s ON s.spelling = {{ spelling(sql('value')) }}
WHERE value = '*' OR value IN (FROM inner_labels){% if rows %} OR value NOT IN (FROM leaf_labels){% endif +%}
ORDER BY problem ASC, value ASC
