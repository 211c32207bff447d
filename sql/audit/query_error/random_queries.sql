{#- A release beside a raw table: both read as numbers. Raw values are in c.source_cells (v_i, records), published texts in c.published_cells (p_i).
    Numbers and dates stand for themselves, categories for their place among the leaves; a published value is an interval. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/query_error/hierarchy_leaves.sql' import leaves -%}
{% macro ends(c) -%}
    {% for end in ('low', 'high') -%}
    {%- set token -%}
    {%- if c.is_moment -%}
    {% set days %}{{ form.in_days(sql('published')) }}{% endset %}
    {% if loop.first %}{{ form.coded_low(days, form.moment) }}{% else %}{{ form.coded_high(days, form.moment) }}{% endif %}
    {%- else -%}
    {% if loop.first %}{{ form.coded_low(sql('published'), form.number) }}{% else %}{{ form.coded_high(sql('published'), form.number) }}{% endif %}
    {%- endif -%}
    {%- endset -%}
    {%- if not c.is_moment %}TRY_CAST(TRY_CAST({{ token }} AS {{ c.text_type }}) AS DOUBLE)
    {%- elif loop.first %}{{ form.begins(token) }} / {{ c.unit_us }}
    {%- else %}{{ form.ends_at(token, c.day_end) }} / {{ c.unit_us }}
    {%- endif %} AS {{ sql(end) }}{% if not loop.last %}, {% endif %}
    {%- endfor %}
{%- endmacro %}
{#- read_i (published, low, high) of the texts but NULL; * is no interval here: whole_i (low, high) is all that was published, or
    all leaves. -#}
{% macro reading(c) %}
{% if not c.is_number %}{{ leaves(c) }}{% endif %}
-- A row a published text: the least and the greatest value that it stands for.
{{ 'read'|of(c) }} AS MATERIALIZED (
    SELECT p.published, {% if c.is_number %}low, high{% else %}n.low, n.high{% endif %}
    FROM (
        SELECT published{% if c.is_number %}, {{ ends(c) }}{% endif %}
        FROM (SELECT DISTINCT p{{ c.i }} AS published FROM {{ c.published_cells }} WHERE p{{ c.i }} IS NOT NULL)
    ) AS p
    {% if not c.is_number %}LEFT JOIN {{ 'names'|of(c) }} AS n ON n.name = p.published{% endif %}
),
-- One row: the least and the greatest value of the column.
{{ 'whole'|of(c) }} AS MATERIALIZED (
    {% if c.is_number %}SELECT min(low) AS low, max(high) AS high FROM {{ 'read'|of(c) }}
    {% else %}SELECT min(place) AS low, max(place) AS high FROM {{ 'leaf'|of(c) }}
    {% endif %}
),
{% endmacro %}
{#- What is wrong with a column's values on either side, as arguments of coalesce. -#}
{% macro unfit(c) %}
        {% if c.rows %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ c.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'node'|of(c) }}) THEN {{ c.say.unreachable }}
            END FROM {{ 'hierarchy'|of(c) }}),
        (SELECT CASE WHEN max(n) > 1 THEN {{ c.say.siblings }} END
            FROM (SELECT count(*) AS n FROM {{ 'hierarchy'|of(c) }} GROUP BY parent, label)),
        (SELECT CASE WHEN max(n) > 1 THEN {{ c.say.ambiguous }} END
            FROM (SELECT count(*) AS n FROM {{ 'leaf'|of(c) }} GROUP BY value)),
        {% if not c.is_other_people %}
        (SELECT CASE WHEN uncovered > 0 THEN {{ c.say.uncovered }} END FROM (
            SELECT count(DISTINCT v{{ c.i }}) AS uncovered FROM {{ c.source_cells }}
            WHERE v{{ c.i }} IS NOT NULL AND v{{ c.i }} NOT IN (SELECT value FROM {{ 'leaf'|of(c) }}))),
        {% endif %}
        {% endif %}
        {% if c.is_number %}
        (SELECT CASE WHEN sum(records) > 0 THEN {{ c.say.wild }} END FROM {{ c.source_cells }} WHERE NOT isfinite(v{{ c.i }})),
        {% endif %}
        {% if c.is_number or c.rows or not c.is_other_people %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ c.say.unread }} END
            FROM {{ 'read'|of(c) }} WHERE (low IS NULL OR high IS NULL OR low > high) AND published <> '*'),
        {% endif %}
{% endmacro %}
{#- What is wrong with the tables themselves. -#}
{% macro moved(sources) %}
        {% for s in sources %}
        CASE WHEN {{ s.fingerprint_sql }} IS DISTINCT FROM {{ s.fingerprint }} THEN {{ s.changed }} END,
        {% if s.bare %}
        CASE WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ s.bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ s.bare }})
        THEN {{ s.shadowed }} END,
        {% endif %}
        {% endfor %}
{% endmacro %}
