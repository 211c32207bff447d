{#- The first argument of a UDF: it carries what must hold before that, of a stream too that nothing by which records
    arrive is NULL. -#}
{% macro asked(request) -%}
(SELECT CASE
            WHEN message IS NOT NULL THEN error(message)
            {% for o in order %}
            WHEN EXISTS (FROM source WHERE "order: {{ loop.index }}" IS NULL) THEN error({{ say_order[loop.index0] }})
            {% endfor %}
            ELSE {{ request }}
        END FROM problem)
{%- endmacro %}
