-- description: A sensitive value that belongs to fewer than k records (persons), with their number (the 100 rarest \
    values of each column).
-- better: lower
-- source: -
-- order: 170
-- optional: true
-- requires: sensitive
-- applies_to: classes, noise
{%- import 'table_functions/interval_text.sql' as form -%}
{% for u in unchanged if u.is_sensitive %}
(SELECT {{ metric_name }}, {{ u.label }} || '=' || coalesce({% if u.is_zoned %}{{ form.label_of(sql('value')) }}\
    {% else %}value::VARCHAR{% endif %}, 'NULL') AS detail, size \
    FROM {{ 'value sizes'|of(u) }} WHERE size < {{ k }} ORDER BY size ASC, detail ASC LIMIT 100)
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
