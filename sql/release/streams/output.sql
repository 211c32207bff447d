{#- The values that a class shows, after `of`, each followed by some words. -#}
{% macro shown(words, of='') -%}
    {% for q in quasi %}{% if not loop.first %}, {% endif -%}
    {%- if q.is_number %}{{ sql(of) }}{{ 'low'|of(q) }} {{ words }}, \
        {{ sql(of) }}{{ 'high'|of(q) }} {{ words }}{% if not typed %}, \
        {{ sql(of) }}{{ 'published'|of(q) }} {{ words }}{% endif %}
    {%- else %}{{ sql(of) }}{{ 'published'|of(q) }} {{ words }}{% endif %}{% endfor %}
{%- endmacro %}
