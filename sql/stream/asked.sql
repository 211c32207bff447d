{#- The first argument of a UDF that is given a stream: it carries what must hold before that. -#}
{% macro asked(request) -%}
(SELECT CASE
            WHEN message IS NOT NULL THEN error(message)
            {% for o in order %}
            WHEN EXISTS (FROM source WHERE o{{ loop.index0 }} IS NULL) THEN error({{ say_order[loop.index0] }})
            {% endfor %}
            ELSE {{ request }}
        END FROM problem)
{%- endmacro %}
