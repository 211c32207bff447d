{#- The rows that two versions do not publish equally often. The tables of both are read once, for both directions of
    small_differences.sql: rows that both have equally often add nothing to a difference. -#}
{% macro counted_rows(relation, n_new, n_old) -%}
SELECT
        {% for c in quasi_output %}
        {{ c.name }}{% if c.is_dated %}::VARCHAR{% endif %} AS {{ 'published'|of(c) }},
        {% endfor %}
        {% for u in unchanged %}
        {{ u.name }} AS {{ u.column }},
        {% if not u.text_is_value %}
        {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }},
        {% endif %}
        {% endfor %}
        {{ n_new }} AS n_new, {{ n_old }} AS n_old
    FROM {{ relation }}
    GROUP BY ALL
{%- endmacro %}
CREATE OR REPLACE TEMP TABLE {{ table }} AS
SELECT * REPLACE (sum(n_new)::BIGINT AS n_new, sum(n_old)::BIGINT AS n_old)
FROM (
    {{ counted_rows(version, sql('count(*)'), sql('0')) }}
    UNION ALL
    {{ counted_rows(other, sql('0'), sql('count(*)')) }}
)
GROUP BY ALL
HAVING sum(n_new) <> sum(n_old)
