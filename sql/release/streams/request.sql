{#- The first argument of a UDF: it carries what must hold before that, of a stream too that nothing by which records
    arrive is NULL. -#}
{%- from 'shared/messages.sql' import message_text with context -%}
{% macro asked(request) -%}
(SELECT CASE
            WHEN failure IS NOT NULL THEN error({{ message_text() }})
            {% for o in order %}
            WHEN EXISTS (FROM source WHERE "order: {{ loop.index }}" IS NULL) THEN error({{ say_order[loop.index0] }})
            {% endfor %}
            ELSE {{ request }}
        END FROM problem LEFT JOIN input_messages AS m ON m.name = (failure).name)
{%- endmacro %}
