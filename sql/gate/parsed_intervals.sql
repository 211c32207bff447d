{#- The gate reads published texts of numbers back, from the step regrouped_classes. -#}
{%- from 'gate/policy_conformance.sql' import keeps_text with context -%}
{%- from 'gate/column_rows.sql' import derived_list -%}
{%- set numbers_by_one = rules|selectattr('is_number')|batch(1)|list -%}
{#- Months, quarters and years of the current grid: 2020-03, 2020-Q1, 2020. Decades and centuries are recognized by
    their years. -#}
{% macro unit_form(r) -%}
    {%- if r.grid.unit == 'month' -%} '(?:[<>]=)?[0-9]{4}-(?:0[1-9]|1[0-2])' {%- elif r.grid.unit == 'quarter' -%} \
        '(?:[<>]=)?[0-9]{4}-Q[1-4]' {%- else -%} '(?:[<>]=)?[0-9]{4}' {%- endif -%}
{%- endmacro %}
{#- The day that such an end is: a lower one, and one from which on values lie, begins its unit; the others end it. -#}
{% macro day_of_unit(r, end) -%}
    {%- set token -%} ltrim({{ end }}, '<>=') {%- endset -%}
    {%- set year -%} left({{ token }}, 4)::INTEGER {%- endset -%}
    {%- set last_month -%}
        {%- if r.grid.unit == 'month' -%} right({{ token }}, 2)::INTEGER
        {%- elif r.grid.unit == 'quarter' -%} right({{ token }}, 1)::INTEGER * 3
        {%- else -%} 12 {%- endif -%}
    {%- endset -%}
    {%- set first_month -%}
        {%- if r.grid.unit == 'month' -%} {{ last_month }}
        {%- elif r.grid.unit == 'quarter' -%} {{ last_month }} - 2
        {%- else -%} 1 {%- endif -%}
    {%- endset -%}
    CASE
        WHEN {% if end == 'low' %}NOT starts_with({{ end }}, '<=')\
            {% else %}starts_with({{ end }}, '>='){% endif %} THEN make_date({{ year }}, {{ first_month }}, 1)
        ELSE last_day(make_date({{ year }}, {{ last_month }}, 1))
    END
{%- endmacro %}
{#- The published texts that are read: of a column, or in wide tables of all columns with one rule. -#}
{% macro published_texts(columns) -%}
{% if columns|length == 1 %}
SELECT DISTINCT {{ 'published'|of(columns[0]) }} AS published FROM regrouped_classes \
    WHERE {{ 'published'|of(columns[0]) }} IS NOT NULL AND {{ 'published'|of(columns[0]) }} <> '*'
{%- else %}
SELECT DISTINCT published FROM (SELECT unnest({{ derived_list(columns, sql(''), 'published') }}) AS published \
    FROM regrouped_classes) WHERE published <> '*'
{%- endif -%}
{%- endmacro %}
{% for columns in (rule_blocks if is_wide else numbers_by_one) if not typed %}
{% set r = columns[0] %}
-- One row per published text, such as 25, [25, 29], <=18 or [85, >=90]: its bounds, and whether they conform to the
-- policy.
{{ 'parsed'|of(r) }} AS MATERIALIZED (
    SELECT
        published, unbounded_low, unbounded_high, low, high,
        coalesce({{ keeps_text(r, sql('low_text'), sql('low'), true) }} \
            AND {{ keeps_text(r, sql('high_text'), sql('high'), false) }}, false) AS keeps
    FROM (
        SELECT
            published, low AS low_text, high AS high_text,
            starts_with(low, '<=') AS unbounded_low,
            starts_with(high, '>=') AS unbounded_high,
            {% for end in ('low', 'high') %}
            {# A day is a day, not an instant that is cut to one. #}
            {% if r.ends.is_day %}CASE {% if r.grid.unit in ('month', 'quarter', 'year', 'decade', 'century') %}WHEN \
                regexp_full_match({{ sql(end) }}, {{ unit_form(r) }}) \
                THEN {{ day_of_unit(r, sql(end)) }} {% endif %}WHEN NOT contains({{ sql(end) }}, ':') THEN {% endif -%}
            TRY_CAST(regexp_replace({{ sql(end) }}, '^[<>]=', '') AS {{ r.ends.type }})
            {%- if r.ends.is_day %} END{% endif %} AS {{ sql(end) }}{% if not loop.last %},{% endif %}
            {% endfor %}
        FROM (
            SELECT
                published,
                CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 1) \
                    ELSE published END AS low,
                CASE WHEN starts_with(published, '[') THEN regexp_extract(published, '^\[(.*), (.*)\]$', 2) \
                    ELSE published END AS high
            FROM ({{ published_texts(columns) }})
        )
    )
),
{% endfor %}
