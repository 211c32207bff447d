-- description: Share of records in classes whose records all have the same sensitive value (in any column, or in the \
    named one): k alone does not protect these records.
-- better: lower
-- source: Machanavajjhala et al. 2006
-- order: 150
-- requires: sensitive
-- applies_to: classes, noise
{% set sensitive = unchanged|selectattr('is_sensitive')|list %}
{% macro share(columns) -%}
coalesce(sum(size) FILTER (WHERE {% for u in columns %}{% if not loop.first %} OR {% endif %}\
    {{ 'is one value'|of(u) }}{% endfor %}), 0)::DOUBLE / sum(size)
{%- endmacro %}
SELECT {{ metric_name }}, unnest([NULL{% for u in sensitive %}, {{ u.label }}{% endfor %}]), \
    {% if sensitive|length == 1 %}{{ share(sensitive) }}{% else %}unnest([\
    {{ share(sensitive) }}{% for u in sensitive %}, {{ share([u]) }}{% endfor %}]){% endif %} FROM sized_classes
