{#- A release next to a raw table, both read as numbers: numbers and dates are themselves, categories are their place
    among the leaves, and a published value is an interval. A column c has its raw values in c.source_cells (with
    `records`) and its published texts in c.published_cells, both under the name c.column. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/query_error/hierarchy_leaves.sql' import columns_of, keys_of, leaves -%}
{#- The value of the end of an interval, as a number of the unit of its column. `form.moment` and `form.number` say what
    can be read. A month, a quarter or a year is its first day at the lower end and its last one at the upper; of an
    open end it is the one that bounds it. -#}
{% macro end_value(c) %}
{% if c.is_moment %}
            CASE
                WHEN NOT regexp_full_match(end_text, '{{ form.unit }}') OR regexp_matches(published, '-[0-9]{2}-|:')
                    THEN end_text
                WHEN sign = '<=' OR (is_high AND sign <> '>=') THEN {{ form.last_day(sql('end_text')) }}
                ELSE {{ form.first_day(sql('end_text')) }}
            END AS end_day,
            CASE
                WHEN regexp_full_match(end_day, '{{ form.moment }}')
                    THEN ({{ form.begins(sql('end_day')) }}
                        {%- if c.day_end %} +
                        CASE WHEN is_high AND NOT contains(end_day, ':') THEN {{ c.day_end }} ELSE 0 END
                        {%- endif %})
                    / {{ c.unit_us }}
            END AS end_value
{% else %}
            end_text AS end_day,
            CASE
                WHEN regexp_full_match(end_text, '{{ form.number }}')
                    {% set end = sql('TRY_CAST(end_text AS FLOAT)' if c.text_type == 'FLOAT' else 'end_text') %}
                    THEN TRY_CAST({{ end }} AS DOUBLE)
            END AS end_value
{% endif %}
{% endmacro %}
{#- published_ends (attribute, published, is_high, sign, end_text): the texts of the two ends of the published texts of
    numbers, dates and times. -#}
{% macro published_ends(numbers, n_columns) %}
-- One row per end of a published number, date or time: its text, and the sign before an open one. A value without an
-- interval is both ends.
published_ends AS MATERIALIZED (
    SELECT
        attribute, published, is_high, regexp_extract(end_text, '^[<>]=') AS sign,
        regexp_replace(end_text, '^[<>]=', '') AS end_text
    FROM (
        SELECT
            attribute, published,
            CASE
                WHEN starts_with(published, '[')
                    THEN regexp_extract(published, '^\[((?:<=)?[^<>=,]+), ((?:>=)?[^<>=,]+)[\])]$', ['low', 'high'])
                WHEN starts_with(published, '{') THEN regexp_extract(
                    published, '^\{''low'': ''?([^<>=,'']+)''?, ''high'': ''?([^<>=,'']+)''?\}$', ['low', 'high']
                )
                ELSE {'low': published, 'high': published}
            END AS ends,
            unnest([false, true]) AS is_high, unnest([ends['low'], ends['high']]) AS end_text
        FROM published_texts
        {% if numbers|length < n_columns %}
        WHERE attribute IN {{ keys_of(numbers) }}
        {% endif %}
    )
),
{% endmacro %}
{#- The texts of columns as numbers: readings (attribute, published, low, high, is_open_below, is_open_above, depth) of
    all published texts but NULL. `*` is no interval: its ends are NULL. -#}
{% macro readings(columns) %}
{% set categories = columns|rejectattr('is_number')|list %}
{% set numbers = columns|selectattr('is_number')|list %}
-- One row per compared column, in order: its weight, and what messages show of it.
compared_columns AS (
    SELECT * EXCLUDE (attribute, hierarchy), attribute COLLATE POSIX AS attribute, hierarchy COLLATE POSIX AS hierarchy
    FROM (
        VALUES
        {% for c in columns %}
        ({{ loop.index }}, {{ c.key }}, {{ c.influence or sql('NULL') }}, {{ c.texts.table }}, {{ c.label }},
        {{- sql(' ') }}{{ c.texts.hierarchy }}, {{ c.texts.uncovered_call }}, {{ c.texts.forms }})
        {%- if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS c (number, attribute, weight, table_name, column_name, hierarchy, uncovered_call, forms)
),
-- One row per row of {{ columns[0].published_cells }} and compared column: the published text.
published_columns AS (
    SELECT *, unnest({{ keys_of(columns, '[]') }}) AS attribute,
        unnest({{ columns_of(columns) }}) AS published
    FROM {{ columns[0].published_cells }}
),
-- One row per distinct text that is published of a column.
published_texts AS MATERIALIZED (
    SELECT DISTINCT attribute COLLATE POSIX AS attribute, published FROM published_columns WHERE published IS NOT NULL
),
{% if categories %}
{{ leaves(categories) }}
{% endif %}
{% if numbers %}
{{ published_ends(numbers, columns|length) }}
{% endif %}
-- One row per published text of a column: the least and the greatest value that it represents, as numbers (for an open
-- interval its bounds); for a category also the depth of its node in the hierarchy, unless it is a leaf.
readings AS MATERIALIZED (
    {% if numbers %}
    SELECT
        attribute, published,
        any_value(end_value) FILTER (WHERE NOT is_high) AS low, any_value(end_value) FILTER (WHERE is_high) AS high,
        bool_or(sign = '<=' AND NOT is_high) AS is_open_below, bool_or(sign = '>=' AND is_high) AS is_open_above,
        NULL::BIGINT AS depth
    FROM (
        {% for kind, pairs in numbers|groupby('reading_kind') %}
        SELECT
            attribute, published, is_high, sign,
{{ end_value(pairs[0]) }}
        FROM published_ends
        {% if numbers|length > pairs|length %}
        WHERE attribute IN {{ keys_of(pairs) }}
        {% endif %}
        {% if not loop.last %}UNION ALL{% endif +%}
        {% endfor %}
    )
    GROUP BY attribute, published
    {% endif %}
    {% if numbers and categories %}
    UNION ALL
    {% endif %}
    {% if categories %}
    SELECT t.attribute, t.published, n.low, n.high, false AS is_open_below, false AS is_open_above, n.depth
    FROM published_texts AS t
    LEFT JOIN published_names AS n ON n.attribute = t.attribute AND n.name = t.published
    {% if numbers %}
    WHERE t.attribute IN {{ keys_of(categories) }}
    {% endif %}
    {% endif %}
),
{% endmacro %}
{#- column_ranges (attribute, low, high): all that was published of a number, all leaves of a category. -#}
{% macro ranges(columns) %}
{% set categories = columns|rejectattr('is_number')|list %}
{% set numbers = columns|selectattr('is_number')|list %}
-- One row per column: the least and the greatest value that `*` represents.
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
{#- The values that do not fit in columns on either side: column_problems (attribute, place, name, detail) and messages.
    The statement takes the first one by `first_column_problem`. -#}
{% macro column_problems(columns, texts) %}
{% set trees = columns|selectattr('has_hierarchy')|list %}
{% set judged = columns|rejectattr('is_other_people')|list %}
-- One row per problem of a column: its place among the problems, the name of its message, and what is inserted there:
-- what is wrong with the hierarchy, or the number of values or records.
column_problems AS MATERIALIZED (
    {% if trees %}
    SELECT c.attribute, 1 AS place, 'malformed' AS name, {{ texts.reasons.roots }} AS detail
    FROM compared_columns AS c
    LEFT JOIN hierarchies AS h ON h.tree = c.attribute AND h.parent IS NULL
    {% if trees|length < columns|length %}
    WHERE c.attribute IN {{ keys_of(trees) }}
    {% endif %}
    GROUP BY c.attribute
    HAVING count(h.node) <> 1
    UNION ALL
    SELECT tree, 2, 'malformed', {{ texts.reasons.unreachable }}
    FROM (SELECT tree, node FROM hierarchies EXCEPT SELECT attribute, node FROM nodes)
    UNION ALL
    SELECT tree, 3, 'malformed', {{ texts.reasons.siblings }}
    FROM hierarchies
    GROUP BY tree, parent, label
    HAVING count(*) > 1
    UNION ALL
    SELECT attribute, 4, 'malformed', {{ texts.reasons.ambiguous }}
    FROM leaves
    GROUP BY attribute, value
    HAVING count(*) > 1
    UNION ALL
    SELECT r.attribute, 5, 'uncovered', count(*)::VARCHAR
    FROM raw_categories AS r
    ANTI JOIN leaves AS l ON l.attribute = r.attribute AND l.value = r.value
    {% if not judged %}
    WHERE false
    {% elif judged|length < columns|length %}
    WHERE r.attribute IN {{ keys_of(judged) }}
    {% endif %}
    GROUP BY r.attribute
    UNION ALL
    {% endif %}
    {% for c in columns if c.is_number %}
    SELECT {{ c.key }} AS attribute, 6 AS place, 'not finite' AS name, sum(records)::BIGINT::VARCHAR AS detail
    FROM {{ c.source_cells }}
    WHERE NOT isfinite({{ c.column }})
    HAVING sum(records) > 0
    UNION ALL
    {% endfor %}
    SELECT attribute, 7 AS place, 'not a published form' AS name, count(*)::VARCHAR AS detail
    FROM readings
    WHERE published <> '*' AND (low <= high) IS NOT true
    {% for c in columns if c.is_other_people and not c.is_number and not c.has_hierarchy %}
        AND attribute <> {{ c.key }}
    {% endfor %}
    GROUP BY attribute
),
-- One row per message about a problem of a column. Inserted are: {0} the table, {1} the column, {2} the detail, {3} the
-- hierarchy, {4} the forms that can be read, {5} the call.
column_messages AS (
    FROM (
        VALUES
        {% for m in texts.messages if trees or not m.is_of_hierarchy %}
        ({{ m.name }}, {{ m.message }}, {{ m.message_of_one }}){% if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS m (name, message, message_of_one)
),
{% endmacro %}
{% macro first_column_problem() -%}
        (
            SELECT format(coalesce(CASE WHEN p.detail = '1' THEN m.message_of_one END, m.message), c.table_name,
                c.column_name, p.detail, c.hierarchy, c.forms, c.uncovered_call)
            FROM column_problems AS p
            JOIN compared_columns AS c USING (attribute)
            JOIN column_messages AS m USING (name)
            ORDER BY c.number ASC, p.place ASC
            LIMIT 1
        )
{%- endmacro %}
{#- Changes of the tables themselves since the statement was planned, as arguments of coalesce. -#}
{% macro table_problems(sources) %}
        {% for s in sources|unique(attribute='fingerprint') %}
        CASE
            WHEN {{ s.fingerprint_sql }}
                IS DISTINCT FROM {{ s.fingerprint }}
            THEN {{ s.changed }} END,
        {% endfor %}
        {% for s in sources if s.bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ s.bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ s.bare }})
        THEN {{ s.shadowed }} END,
        {% endfor %}
{% endmacro %}
