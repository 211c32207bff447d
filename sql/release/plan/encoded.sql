{#- From the source to codes, and groups of records with equal codes. -#}
{%- from 'shared/small_relation_hint.sql' import few, end_few -%}
{%- from 'release/plan/number_column.sql' import gap, coded with context -%}
{%- from 'release/plan/row_identity.sql' import tie with context -%}
{%- from 'shared/record_assignment.sql' import usable with context -%}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{%- from 'release/plan/column_rows.sql' import column_numbers, column_list -%}
WITH RECURSIVE
-- Chapter 1, read: the source is read once, what the call needs is checked, and every value gets a code.
{% if order %}{% include 'release/streams/source.sql' %}{% else %}{% include 'release/plan/source.sql' %}{% endif %},
{% if kept_members %}
{% include 'release/plan/record_hashes.sql' %}
{% endif %}
{% if nulls == 'drop' %}
-- One row per kind of record without NULL in a quasi-identifier: only these are clustered.
usable_records AS (
    FROM source
    WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}{{ q.column }} IS NOT NULL{% endfor +%}
),
{% endif %}
{% if whole_table %}
-- One row per value of a column in the larger table that the source is a part of; for sensitive columns with its number
-- of records or persons.
{% for q in quasi %}
{{ 'larger'|of(q) }} AS MATERIALIZED (SELECT {{ q.value }} AS {{ q.column }} FROM {{ whole_table.quasi[q.i] }}),
{% endfor %}
{% for s in model_columns %}
{{ 'larger'|of(s) }} AS MATERIALIZED (
    SELECT {{ s.column }}{% if s.tree %}, {{ 'category'|of(s) }}{% endif %}, sum(size)::BIGINT AS size
    FROM (SELECT {{ unchanged[s.u].value }} AS {{ s.column }}, \
        {% if s.tree %}{{ s.tree.value }} AS {{ 'category'|of(s) }}, {% endif %}{{ whole_table.size }} AS size \
        FROM {{ whole_table.sensitive[s.i] }})
    GROUP BY ALL
),
{% endfor %}
{% endif %}
{% if is_wide %}
{% for block in number_blocks %}
{% set q = block[0] %}
-- One row per quasi-identifier (attribute, its number) and value after top and bottom coding, of all columns with the
-- type and settings of {{ q.raw_name|comment }}: the code, which is the rank, and the distance from the least value.
{{ 'domain'|of(q) }} AS MATERIALIZED (
    SELECT
        attribute, value,
        (row_number() OVER (PARTITION BY attribute ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code,
        {{ gap(q, sql('value'), sql('least_value')) }} AS position
    FROM (
        SELECT *, min(value) OVER (PARTITION BY attribute) AS least_value
        FROM (
            SELECT DISTINCT attribute, {{ coded(q, sql('value')) }} AS value
            FROM (SELECT {{ column_numbers(block) }} AS attribute, unnest({{ column_list(block, sql('')) }}) AS value \
                FROM {{ usable() }})
            WHERE value IS NOT NULL{% if q.family.has_infinity %} AND isfinite(value){% endif +%}
        )
    )
),
{% endfor %}
{% else %}
{% for q in quasi if q.is_number %}
-- One row per value{% if q.top or q.bottom %} after top and bottom coding{% endif %}: its code, which is its rank, \
    and its distance from the least value.
{{ 'domain'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    SELECT
        value,
        (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code,
        {{ gap(q, sql('value'), q.zero if order else sql('least_value')) }} AS position
    FROM (
        SELECT value, min(value) OVER () AS least_value
        FROM (SELECT DISTINCT {{ coded(q, q.column) }} AS value FROM {{ 'larger'|of(q) if whole_table else usable() }} \
            WHERE {{ q.column }} IS NOT NULL{% if q.family.has_infinity %} AND isfinite({{ q.column }}){% endif %})
    )
    {{ end_few() }}
),
{% endfor %}
{% endif %}
{% if trees %}
{{ all_trees(trees, usable(), whole_table, is_wide) }}
{% endif %}
{# Sensitive values that models are about or that the algorithm reads, in their order. #}
{% for s in model_columns %}
-- One row per value of the sensitive column: its code, in the order of the values or of the leaves of the hierarchy.
{{ 'sensitive codes'|of(s) }} AS MATERIALIZED (
    {{ few() }}
    {% if s.tree %}
    SELECT DISTINCT k.{{ s.column }} AS value, d.code{% if s.number %}, \
        {{ gap(s.number, sql('k.', s.column), sql('l.value')) }} AS position{% endif %}
    FROM {{ 'larger'|of(s) if whole_table else usable() }} AS k JOIN value_codes AS d ON d.tree = {{ s.tree.tree }} \
        AND d.value = k.{{ 'category'|of(s) }}
    {% if s.number %}CROSS JOIN (SELECT min({{ s.column }}) AS value \
        FROM {{ 'larger'|of(s) if whole_table else usable() }}) AS l{% endif %}
    {% else %}
    SELECT value, (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code{% if s.number %}, \
        {{ gap(s.number, sql('value'), sql('least_value')) }} AS position{% endif %}
    FROM (
        SELECT value{% if s.number %}, min(value) OVER () AS least_value{% endif %}
        FROM (SELECT DISTINCT {{ s.column }} AS value FROM {{ 'larger'|of(s) if whole_table else usable() }} \
            WHERE {{ s.column }} IS NOT NULL)
    )
    {% endif %}
    {{ end_few() }}
),
{% endfor %}
{% include 'release/plan/input_errors.sql' %}
{% if tie_break_mode == 'value' %}
-- One row per combination of unchanged values: the hash that orders records with equal codes.
ties AS MATERIALIZED (
    SELECT *, {{ tie(sql(''), tie_break_columns, false) }} AS tie
    FROM (SELECT DISTINCT {% for u in tie_break_columns %}\
        {% if not loop.first %}, {% endif %}{{ u.column }}{% endfor %} FROM {{ usable() }})
),
{% endif %}
-- One row per group of records with equal codes\
    {% if model_columns %} of quasi-identifiers and sensitive values{% endif %}\
    {% if person %} of one person{% endif %}, which the clustering cannot distinguish: its number \
    of records (size), its kinds of record (members), and a number that orders groups between which the algorithm has \
    no other reason to choose (tie; 0 where it needs none).
code_groups AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS gid, *
    FROM (
        SELECT
            {% if tie_break_mode == 'value' %}h.tie\
                {% elif tie_break_mode == 'row' %}{{ tie(sql('s.'), tie_break_columns, person) }} AS tie\
                {% else %}0::UBIGINT AS tie{% endif %}
            {% for q in quasi %}, {% if is_wide %}k.codes[{{ q.i + 1 }}]\
                {% else %}{{ 'domain'|of(q) }}.code{% endif %} AS {{ 'code'|of(q) }}{% endfor %}
            {% for s in model_columns %}, {{ 'sensitive codes'|of(s) }}.code AS {{ 'code'|of(s) }}{% endfor %}
            {% if person %}, CASE WHEN s.person IS NOT NULL THEN md5_number_lower(s.person::VARCHAR) \
                END AS person{% endif %}
            , sum(s.size)::BIGINT AS size, list(struct_pack(rid := s.rid, size := s.size)) AS members
        FROM {{ usable() }} AS s
        {% if is_wide %}
        JOIN (
            SELECT rid, list(code ORDER BY attribute ASC) AS codes
            FROM (
                {% for block in number_blocks %}
                SELECT v.rid, v.attribute, d.code
                FROM (
                    SELECT rid, {{ column_numbers(block) }} AS attribute, \
                        unnest({{ column_list(block, sql('')) }}) AS value
                    FROM {{ usable() }}
                ) AS v
                LEFT JOIN {{ 'domain'|of(block[0]) }} AS d ON d.attribute = v.attribute \
                    AND d.value = {{ coded(block[0], sql('v.value')) }}
                {% if not loop.last or tree_block %}UNION ALL{% endif +%}
                {% endfor %}
                {% if tree_block %}
                SELECT v.rid, v.attribute, d.code
                FROM (
                    SELECT rid, {{ column_numbers(tree_block) }} AS attribute, \
                        unnest({{ column_list(tree_block, sql('')) }}) COLLATE POSIX AS value
                    FROM {{ usable() }}
                ) AS v
                LEFT JOIN value_codes AS d ON d.tree = v.attribute AND d.value = v.value
                {% endif %}
            )
            GROUP BY rid
        ) AS k ON k.rid = s.rid
        {% else %}
        {% for q in quasi %}
        LEFT JOIN {% if q.is_number %}{{ 'domain'|of(q) }} ON {{ 'domain'|of(q) }}.value \
            = {{ coded(q, sql('s.', q.column)) }}{% else %}value_codes AS {{ 'domain'|of(q) }} \
            ON {{ 'domain'|of(q) }}.tree = {{ q.tree }} AND {{ 'domain'|of(q) }}.value = s.{{ q.column }}{% endif %}
        {% endfor %}
        {% endif %}
        {% for f in model_columns %}
        LEFT JOIN {{ 'sensitive codes'|of(f) }} ON {{ 'sensitive codes'|of(f) }}.value = s.{{ f.column }}
        {% endfor %}
        {% if tie_break_mode == 'value' %}
        JOIN ties AS h ON {% for u in tie_break_columns %}{% if not loop.first %} AND {% endif %}h.{{ u.column }} \
            IS NOT DISTINCT FROM s.{{ u.column }}{% endfor %}
        {% endif %}
        GROUP BY ALL
    )
),
