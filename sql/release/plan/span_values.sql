{#- The published values of each span. A span of NULLs publishes NULL and loses nothing; one with NULLs and values
    publishes `*` and loses everything. Typed bounds are NULL in both cases. -#}
{%- from 'release/plan/number_column.sql' import has_values, is_star with context -%}
{% macro span_values() -%}
{% if is_wide %}{{ span_values_of_rows() }}{% else %}{{ span_values_of_joins() }}{% endif %}
{%- endmacro %}
{#- Wide tables: values and losses are joined to one row per span and column, and collected in lists. Numbers have a
    list of bounds for each block of columns with one type. -#}
{% macro span_values_of_rows() -%}
{% set is_usable %}{{ has_values(sql('x.'), none) }}{% endset %}
{% set has_star %}{{ is_star(sql('x.'), none) }}{% endset %}
SELECT
            span
            {% for block in number_blocks %}
            {% for q in block %}
            , {{ 'lows'|of(block[0]) }}[{{ loop.index }}] AS {{ 'low'|of(q) }}, \
                {{ 'highs'|of(block[0]) }}[{{ loop.index }}] AS {{ 'high'|of(q) }}
            {% endfor %}
            {% endfor %}
            {% for q in generalized if not (q.is_number and typed) %}
            , texts[{{ q.i + 1 }}] COLLATE POSIX AS {{ 'published'|of(q) }}
            {% endfor %}
            {% if without_losses is not defined %}
            {% for q in generalized %}
            , losses[{{ q.i + 1 }}] AS {{ 'loss'|of(q) }}
            {% endfor %}
            {% endif %}
        FROM (
            SELECT
                x.span
                {% for block in number_blocks %}
                , list(CASE WHEN {{ is_usable }} THEN {{ 'range'|of(block[0]) }}.low_value END ORDER BY x.attribute ASC)
                    FILTER (WHERE x.attribute IN {{ numbers_of(block) }}) AS {{ 'lows'|of(block[0]) }}
                , list(CASE WHEN {{ is_usable }} THEN {{ 'range'|of(block[0]) }}.high_value END \
                    ORDER BY x.attribute ASC)
                    FILTER (WHERE x.attribute IN {{ numbers_of(block) }}) AS {{ 'highs'|of(block[0]) }}
                {% endfor %}
                {% if tree_block or not typed %}
                , list(CASE WHEN {{ is_usable }} THEN {{ first_range('published', typed) }}
                    WHEN {{ has_star }} THEN '*' END ORDER BY x.attribute ASC) AS texts
                {% endif %}
                {% if without_losses is not defined %}
                , list(CASE WHEN {{ is_usable }} THEN {{ first_range('loss', false) }}
                    WHEN {{ has_star }} THEN 1.0
                    ELSE {% if not typed %}0.0{% elif tree_block %}CASE WHEN x.attribute \
                        IN {{ numbers_of(tree_block) }} THEN 0.0 ELSE 1.0 END{% else %}1.0{% endif %} END \
                        ORDER BY x.attribute ASC) AS losses
                {% endif %}
            FROM span_columns AS x
            {% for block in number_blocks %}
            LEFT JOIN {{ 'intervals'|of(block[0]) }} AS {{ 'range'|of(block[0]) }}
                ON {{ 'range'|of(block[0]) }}.attribute = x.attribute AND {{ 'range'|of(block[0]) }}.low = x.low \
                    AND {{ 'range'|of(block[0]) }}.high = x.high
            {% endfor %}
            {% if tree_block %}
            LEFT JOIN range_nodes AS n ON n.tree = x.attribute AND n.low = x.low \
                AND n.high = x.high{% if widens %} AND n.raised = x.raised{% endif +%}
            {% endif %}
            GROUP BY x.span
        )
{%- endmacro %}
{#- What the one relation with a row for the column says: published or loss. -#}
{% macro first_range(name, only_trees) -%}
coalesce({% if not only_trees %}\
    {% for block in number_blocks %}{{ 'range'|of(block[0]) }}.{{ sql(name) }}{{ sql(', ') if not loop.last or \
    tree_block }}{% endfor %}{% endif %}{% if tree_block %}n.{{ sql(name) }}{% endif %})
{%- endmacro %}
{% macro numbers_of(columns) -%} ({% for c in columns %}{{ c.i }}{{ sql(', ') if not loop.last }}{% endfor %}) \
    {%- endmacro %}
{% macro span_values_of_joins() -%}
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
        LEFT JOIN {% if q.is_number %}{{ 'intervals'|of(q) }}{% else %}range_nodes{% endif %} AS {{ 'range'|of(q) }}
            ON {% if not q.is_number %}{{ 'range'|of(q) }}.tree = {{ q.tree }} AND {% endif %}\
                {{ 'range'|of(q) }}.low = x.{{ 'low'|of(q) }} \
                AND {{ 'range'|of(q) }}.high = x.{{ 'high'|of(q) }}\
                {% if widens and not q.is_number %} AND {{ 'range'|of(q) }}.raised = x.{{ 'raised'|of(q) }}{% endif +%}
        {% endfor %}
{%- endmacro %}
{#- The published values of each class. -#}
{% macro class_values() -%}
SELECT DISTINCT g.class_id\
            {% for q in quasi %}, {% if q.is_number and typed %}g.{{ 'low'|of(q) }}, g.{{ 'high'|of(q) }}\
            {% else %}g.{{ 'published'|of(q) }}{% endif %}{% endfor %} FROM generalized_spans AS g
{%- endmacro %}
{% macro span_values_relation() %}
-- One row per span: its published values and the loss of a record.
span_values AS (
        {{ span_values() }}
),
{% endmacro %}
