{#- Values of unchanged columns that fewer than k records (persons) have are refused, unless the call allows them
    (allow_rare): alone, and in combination. -#}
{%- from 'shared/record_assignment.sql' import shown_values, usable with context -%}
{#- Whether there are columns whose rare values are refused: they are checked when a table is released. -#}
{% macro checks_rare_values() -%}
    {%- if waiting is not defined and continuation is not defined \
        and (check_combinations or unchanged|selectattr('check_rare')|list) %}true{% endif -%}
{%- endmacro %}
{#- The problems of rare values, each NULL if there is none, separated by commas. -#}
{% macro rare_value_problems() -%}
    {% for u in unchanged if u.check_rare %}
    (SELECT CASE WHEN count(*) > 0 \
        THEN {{ messages.failure('rare values of ' ~ u.raw_name, u.say_rare) }} END
        FROM (SELECT 1 FROM {{ usable() }} GROUP BY {{ shown_values([u]) }}
            HAVING {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} < {{ k }}))\
            {% if check_combinations or not loop.last %},{% endif +%}
    {% endfor %}
    {% if check_combinations %}
    (SELECT CASE WHEN count(*) > 0 \
        THEN {{ messages.failure('rare combinations of values', say.rare_together) }} END
        FROM (SELECT 1 FROM {{ usable() }} \
            GROUP BY {{ shown_values(unchanged|selectattr('check_rare')|list) }}
            HAVING {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} < {{ k }}))
    {% endif %}
{%- endmacro %}
