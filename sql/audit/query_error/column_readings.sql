{#- A release next to a raw table, both read as numbers: numbers and dates are themselves, categories are their place
    among the leaves, and a published value is an interval. A column c has its raw values in c.source_cells (with
    `records`) and its published texts in c.published_cells, both under the name c.column. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/query_error/hierarchy_leaves.sql' import keys_of, leaves -%}
{#- A number or date: the ends of its published texts; of an open interval the bound. -#}
{% macro number_readings(c) %}
    {% set token = form.moment if c.is_moment else form.number %}
    {% set text = sql('days') if c.is_moment else sql('published') %}
    SELECT {{ c.key }} COLLATE POSIX AS attribute, published,
        {% if c.is_moment %}
        {{ form.begins(sql('low_text')) }} / {{ c.unit_us }} AS low,
        {{ form.ends_at(sql('high_text'), c.day_end) }} / {{ c.unit_us }} AS high
        {% else %}
        TRY_CAST(TRY_CAST(low_text AS {{ c.text_type }}) AS DOUBLE) AS low,
        TRY_CAST(TRY_CAST(high_text AS {{ c.text_type }}) AS DOUBLE) AS high
        {% endif %}
    FROM (
        SELECT
            published,
            {{ form.coded_low(text, token) }} AS low_text,
            {{ form.coded_high(text, token) }} AS high_text
        FROM (
            SELECT published{% if c.is_moment %}, {{ form.in_days(sql('published')) }} AS days{% endif +%}
            FROM published_texts
            WHERE attribute = {{ c.key }}
        )
    )
{% endmacro %}
{#- The texts of columns as numbers: readings (attribute, published, low, high) of all published texts but NULL. `*`
    is no interval: its ends are NULL. -#}
{% macro readings(columns) %}
{% set categories = columns|rejectattr('is_number')|list %}
-- One row per distinct text that is published of a column.
published_texts AS MATERIALIZED (
    SELECT attribute, published
    FROM (
        {% for c in columns %}
        SELECT DISTINCT {{ c.key }} COLLATE POSIX AS attribute, {{ c.column }} AS published FROM {{ c.published_cells }}
        {% if not loop.last %}UNION ALL{% endif +%}
        {% endfor %}
    )
    WHERE published IS NOT NULL
),
{% if categories %}
{{ leaves(categories) }}
{% endif %}
-- One row per published text of a column: the least and the greatest value that it stands for, as numbers.
readings AS MATERIALIZED (
    {% for c in columns if c.is_number %}
{{ number_readings(c) }}
    {% if categories or not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
    {% if categories %}
    SELECT t.attribute, t.published, n.low, n.high
    FROM published_texts AS t
    LEFT JOIN published_names AS n ON n.attribute = t.attribute AND n.name = t.published
    WHERE t.attribute IN {{ keys_of(categories) }}
    {% endif %}
),
{% if categories|selectattr('rows')|list %}
-- One row per column with a hierarchy: counts that show whether hierarchy and values fit together.
hierarchy_checks AS MATERIALIZED (
    SELECT
        c.attribute, coalesce(h.roots, 0) AS roots, coalesce(h.nodes, 0) AS stored_nodes, coalesce(n.nodes, 0) AS nodes,
        h.namesakes AS namesakes, l.namesakes AS leaf_namesakes, coalesce(v.uncovered, 0) AS uncovered
    FROM (
        VALUES {% for c in categories|selectattr('rows') %}({{ c.key }}){% if not loop.last %}, {% endif %}{% endfor +%}
    ) AS c (attribute)
    LEFT JOIN (
        SELECT tree, sum(roots) AS roots, sum(nodes) AS nodes, max(nodes) AS namesakes
        FROM (
            SELECT tree, count(*) AS nodes, count(*) FILTER (WHERE parent IS NULL) AS roots
            FROM hierarchies
            GROUP BY tree, parent, label
        )
        GROUP BY tree
    ) AS h ON h.tree = c.attribute
    LEFT JOIN (SELECT attribute, count(*) AS nodes FROM nodes GROUP BY attribute) AS n ON n.attribute = c.attribute
    LEFT JOIN (
        SELECT attribute, max(leaves) AS namesakes
        FROM (SELECT attribute, count(*) AS leaves FROM leaves GROUP BY attribute, value)
        GROUP BY attribute
    ) AS l ON l.attribute = c.attribute
    LEFT JOIN (
        SELECT r.attribute, count(*) AS uncovered
        FROM raw_categories AS r
        ANTI JOIN leaves AS l ON l.attribute = r.attribute AND l.value = r.value
        GROUP BY r.attribute
    ) AS v ON v.attribute = c.attribute
),
{% endif %}
{% endmacro %}
{#- column_ranges (attribute, low, high): all that was published of a number, all leaves of a category. -#}
{% macro ranges(columns) %}
{% set categories = columns|rejectattr('is_number')|list %}
{% set numbers = columns|selectattr('is_number')|list %}
-- One row per column: the least and the greatest value that `*` stands for.
column_ranges AS MATERIALIZED (
    {% if numbers %}
    SELECT attribute, min(low) AS low, max(high) AS high
    FROM readings
    WHERE attribute IN {{ keys_of(numbers) }}
    GROUP BY attribute
    {% endif %}
    {% if numbers and categories %}
    UNION ALL
    {% endif %}
    {% if categories %}
    SELECT attribute, min(place) AS low, max(place) AS high FROM leaves GROUP BY attribute
    {% endif %}
),
{% endmacro %}
{#- The value of column c in a row t of raw values, as a number, where `leaf_joins` has joined the leaves. -#}
{% macro value_of(c) -%}
    {% if c.is_number %}t.{{ c.column }}{% else %}{{ 'leaf'|of(c) }}.place{% endif %}
{%- endmacro %}
{% macro leaf_joins(columns) %}
    {% for c in columns if not c.is_number %}
    LEFT JOIN leaves AS {{ 'leaf'|of(c) }}
        ON {{ 'leaf'|of(c) }}.attribute = {{ c.key }} AND {{ 'leaf'|of(c) }}.value = t.{{ c.column }}
    {% endfor %}
{% endmacro %}
{#- The values that do not fit in columns on either side, as arguments of coalesce. -#}
{% macro column_problems(columns) %}
        {% for c in columns %}
        {% if c.rows %}
        (SELECT CASE
            WHEN roots <> 1 THEN {{ c.say.roots }}
            WHEN stored_nodes <> nodes THEN {{ c.say.unreachable }}
            WHEN namesakes > 1 THEN {{ c.say.siblings }}
            WHEN leaf_namesakes > 1 THEN {{ c.say.ambiguous }}
            {% if not c.is_other_people %}
            WHEN uncovered > 0 THEN {{ c.say.uncovered }}
            {% endif %}
        END FROM hierarchy_checks WHERE attribute = {{ c.key }} COLLATE POSIX),
        {% endif %}
        {% if c.is_number %}
        (SELECT CASE WHEN sum(records) > 0 THEN {{ c.say.wild }} END
            FROM {{ c.source_cells }} WHERE NOT isfinite({{ c.column }})),
        {% endif %}
        {% if c.is_number or c.rows or not c.is_other_people %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ c.say.unread }} END
            FROM readings WHERE attribute = {{ c.key }} AND published <> '*' AND (low <= high) IS NOT true),
        {% endif %}
        {% endfor %}
{% endmacro %}
{#- Changes of the tables themselves since the statement was planned, as arguments of coalesce. -#}
{% macro table_problems(sources) %}
        {% for s in sources %}
        CASE WHEN {{ s.fingerprint_sql }} IS DISTINCT FROM {{ s.fingerprint }} THEN {{ s.changed }} END,
        {% if s.bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ s.bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ s.bare }})
        THEN {{ s.shadowed }} END,
        {% endif %}
        {% endfor %}
{% endmacro %}
