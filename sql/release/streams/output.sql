{#- The values that a class shows, after `of`, each followed by some words. -#}
{% macro shown(words, of='') -%}
    {% for q in quasi %}{% if not loop.first %}, {% endif -%}
    {%- if q.is_number %}{{ sql(of) }}low{{ q.i }} {{ words }}, {{ sql(of) }}high{{ q.i }} {{ words }}{% if not typed %}, {{ sql(of) }}p{{ q.i }} {{ words }}{% endif %}
    {%- else %}{{ sql(of) }}p{{ q.i }} {{ words }}{% endif %}{% endfor %}
{%- endmacro %}
