-- description: A sensitive value that belongs to fewer than k records (persons), with their number (the 100 rarest \
    values of each column).
-- better: lower
-- source: -
-- order: 170
-- requires: sensitive
-- applies_to: classes, noise
{%- import 'table_functions/interval_text.sql' as form -%}
{% for u in unchanged if u.is_sensitive %}
FROM (
    SELECT {{ u.label }} || '=' || coalesce({{ form.label_of(sql('value')) }}, 'NULL') AS detail, size AS value
    FROM {{ 'overall'|of(u) }}
    WHERE size < {{ k }}
    ORDER BY size ASC, detail ASC
    LIMIT 100
)
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
