{#- The texts with which a category may be published, climbed from the stored hierarchy as far as the policy allows:
    ancestors (tree, value, published). `*` is always allowed, because NULL may be in the class. -#}
{%- from 'shared/hierarchies.sql' import setting with context -%}
{%- from 'gate/column_rows.sql' import column_list, column_numbers -%}
{% set climbing = rules|rejectattr('is_number')|list %}
{% if climbing %}
{% set own_rows = [] %}
{% set flat = [] %}
{% for r in climbing %}{% if quasi[r.i].rows %}{% if own_rows.append(r) %}{% endif %}{% else %}\
    {% if flat.append(r) %}{% endif %}{% endif %}{% endfor %}
{# The number of steps up from the value to the published node. #}
{% set lowest %}{{ setting(own_rows, 'min_level', 0, sql('tree')) }}{% endset %}
{% set highest %}{{ setting(own_rows, 'max_level', sql('len(labels)'), sql('tree')) }}{% endset %}
{% set rounded %}{{ setting(own_rows, 'round', 1, sql('tree')) }}{% endset %}
{% set allows_all = lowest == '0' and highest == 'len(labels)' and rounded == '1' %}
{#- The original values of these columns. -#}
{% macro originals_of(columns) -%}
SELECT DISTINCT tree, value
        FROM (
            SELECT {{ column_numbers(columns) }} AS tree, \
                unnest({{ column_list(columns, sql('')) }}) COLLATE POSIX AS value
            FROM class_originals
        )
        WHERE value IS NOT NULL
{%- endmacro %}
{% if own_rows %}
-- One row per value and node on its path to the root of the stored hierarchy: the labels from the value to the node.
ancestor_paths AS (
    SELECT v.tree, v.value, r.parent, [r.label] AS labels\
        {% if escape %}, NOT EXISTS (FROM hierarchy AS below WHERE below.tree = r.tree AND below.parent = r.node) \
        AS is_leaf{% elif not allows_all %}, true AS is_leaf{% endif +%}
    FROM (
        {{ originals_of(own_rows) }}
    ) AS v
    JOIN hierarchy AS r ON r.tree = v.tree AND r.label = v.value
    WHERE NOT EXISTS (FROM hierarchy AS below WHERE below.tree = r.tree AND below.parent = r.node)
    {%- if escape %} OR NOT EXISTS (
        FROM hierarchy AS leaf
        WHERE leaf.tree = v.tree AND leaf.label = v.value \
            AND NOT EXISTS (FROM hierarchy AS below WHERE below.tree = leaf.tree AND below.parent = leaf.node)
    ){% endif %}
    UNION ALL
    SELECT c.tree, c.value, r.parent, list_append(c.labels, r.label)\
        {% if escape or not allows_all %}, c.is_leaf{% endif +%}
    FROM ancestor_paths AS c
    JOIN hierarchy AS r ON r.tree = c.tree AND r.node = c.parent
    {# A hierarchy that is not a tree is refused elsewhere, but perhaps later than this runs: a circle must end. #}
    WHERE len(c.labels) < (SELECT count(*) FROM hierarchy)
),
{% endif %}
-- One row per hierarchy, value and text that may be published for it.
allowed_values AS MATERIALIZED (
    {% if own_rows %}
    SELECT DISTINCT tree, value, unnest(list_concat(
        list_transform(steps, lambda n: labels[n + 1]),
        list_transform(list_filter(steps, lambda n: n < len(labels) - 1), \
            lambda n: array_to_string(list_reverse(labels[n + 1:len(labels) - 1]), ' > ')),
        ['*']{% if escape %}, CASE WHEN list_contains(steps, 0) THEN ['\' || value] ELSE [] END{% endif %}
    )) COLLATE POSIX AS published
    FROM (
        {% if allows_all %}
        SELECT *, range(0, len(labels)) AS steps FROM ancestor_paths WHERE parent IS NULL
        {% else %}
        SELECT *, list_filter(range(0, len(labels)), lambda n: n >= least(lowest, len(labels) - 1) AND n <= highest \
            AND (rounded = 1 OR (n = 0 AND is_leaf) OR (len(labels) - 1 - n) % rounded = 0)) AS steps
        FROM (SELECT *, {{ lowest }} AS lowest, {{ highest }} AS highest, {{ rounded }} AS rounded FROM ancestor_paths \
            WHERE parent IS NULL)
        {% endif %}
    )
    {% if flat %}UNION ALL{% endif %}
    {% endif %}
    {% for own, columns in ((true, flat|selectattr('min_level', 'equalto', 0)|list), \
        (false, flat|rejectattr('min_level', 'equalto', 0)|list)) if columns %}
    {% if not loop.first %}UNION ALL{% endif +%}
    SELECT tree, value, unnest(['*'{% if own %}, value{% if escape %}, '\' || value{% endif %}{% endif %}]) COLLATE \
        POSIX AS published
    FROM (
        {{ originals_of(columns) }}
    )
    {% endfor %}
),
{% endif %}
