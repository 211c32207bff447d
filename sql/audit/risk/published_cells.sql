{#- Raw tables next to classes: their cells, the published values of classes as intervals, and which cells lie inside.
    Imported with context, because the columns of class_ends are named after `quasi`. -#}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, value_of -%}
{#- Records that do not differ in what is compared: their values, the person if one is known, and their number. -#}
{% macro raw_cells(r) %}
-- One row per combination of raw values of a table: its number of records.
{{ r.name }} AS MATERIALIZED (
    SELECT
        {% for c in r.attributes %}
        {{ c.value }} AS {{ c.column }},
        {% endfor %}
        {% if r.person %}{{ r.person }} AS person, {% endif %}count(*) AS records
    FROM {{ r.source }}
    GROUP BY ALL
),
{% endmacro %}
{#- (class_id, "age: low", "age: high") of all classes. `*` is everything, missing values too, which are -infinity. -#}
{% macro ends_of(attributes) %}
SELECT
    k.class_id{% for c in attributes %}{% for end in ('low', 'high') %},
    CASE
        WHEN k.{{ c.column }} = '*' THEN '{% if loop.first %}-{% endif %}inf'::DOUBLE
        WHEN k.{{ c.column }} IS NULL THEN '-inf'::DOUBLE
        {% if c.is_number %}
        {% if loop.first %}
        WHEN {{ 'reading'|of(c) }}.is_open_below THEN '-1e308'::DOUBLE
        {% else %}
        WHEN {{ 'reading'|of(c) }}.is_open_above THEN 'inf'::DOUBLE
        {% endif %}
        {% endif %}
        ELSE coalesce({{ 'reading'|of(c) }}.{{ sql(end) }}, 'nan'::DOUBLE)
    END AS {{ end|of(quasi[c.qi_index]) }}{% endfor %}{% endfor %}

FROM classes AS k
{% for c in attributes %}
LEFT JOIN readings AS {{ 'reading'|of(c) }}
    ON {{ 'reading'|of(c) }}.attribute = {{ c.key }} AND {{ 'reading'|of(c) }}.published = k.{{ c.column }}
{% endfor %}
{% endmacro %}
{#- Raw values as numbers; missing values are -infinity, which only `*` and NULL have. -#}
{% macro values_as_numbers(attributes) -%}
        {% for c in attributes %}
        coalesce({{ value_of(c) }}, '-inf'::DOUBLE) AS {{ c.column }},
        {% endfor %}
{%- endmacro %}
{#- Whether the cell t lies in the class k. CASE, because a join on many inequalities would sort. -#}
{% macro inside(attributes) -%}
    {% for c in attributes %}
    {% set low = 'low'|of(quasi[c.qi_index]) %}
    {% set high = 'high'|of(quasi[c.qi_index]) %}
    CASE WHEN t.{{ c.column }} >= k.{{ low }} THEN t.{{ c.column }} <= k.{{ high }} ELSE false END
    {%- if not loop.last %} AND
    {% endif %}
    {% endfor %}
{%- endmacro %}
