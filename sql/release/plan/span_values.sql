{#- The published values of each span. A span of NULLs publishes NULL and loses nothing; one with NULLs and values
    publishes `*` and loses everything. Typed bounds are NULL in both cases. -#}
{%- from 'release/plan/number_column.sql' import has_values, is_star with context -%}
{% macro span_values() -%}
SELECT
            x.span
            {% for q in generalized %}
            {% if q.is_number %}
            , CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'range'|of(q) }}.low_value END AS {{ 'low'|of(q) }}
            , CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'range'|of(q) }}.high_value END AS {{ 'high'|of(q) }}
            {% endif %}
            {% if not (q.is_number and typed) %}
            , CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'range'|of(q) }}.published
                WHEN {{ is_star(sql('x.'), q) }} THEN '*' END AS {{ 'published'|of(q) }}
            {% endif %}
            {% if without_losses is not defined %}
            , CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'range'|of(q) }}.loss
                WHEN {{ is_star(sql('x.'), q) }} THEN 1.0
                ELSE {% if q.is_number and typed %}1.0{% else %}0.0{% endif %} END AS {{ 'loss'|of(q) }}
            {% endif %}
            {% endfor %}
        FROM span_ranges AS x
        {% for q in generalized %}
        LEFT JOIN {% if q.is_number %}{{ 'published'|of(q) }}{% else %}(FROM range_nodes WHERE tree = {{ q.tree }}){% endif %} AS {{ 'range'|of(q) }}
            ON {{ 'range'|of(q) }}.low = x.{{ 'low'|of(q) }} AND {{ 'range'|of(q) }}.high = x.{{ 'high'|of(q) }}{% if widens and not q.is_number %} AND {{ 'range'|of(q) }}.raised = x.{{ 'raised'|of(q) }}{% endif +%}
        {% endfor %}
{%- endmacro %}
{% macro span_values_relation() %}
-- One row per span: its published values and the loss of a record.
span_values AS (
        {{ span_values() }}
),
{% endmacro %}
