{#- The codes with which values of the larger table are clustered: for the column `of`, a quasi-identifier or a
    sensitive one that is checked, one row per original value, with its code. -#}
{%- from 'release/plan/number_column.sql' import coded with context -%}
{% include 'release/plan/encoded.sql' %}
chosen AS (
    {% for q in quasi if q.raw_name == of %}
    SELECT v.value, d.code
    FROM (SELECT DISTINCT {{ q.name }} AS value, {{ q.value }} AS read FROM {{ whole_table.quasi[q.i] }}) AS v
    JOIN {% if q.is_number %}{{ 'domain'|of(q) }} AS d ON d.value = {{ coded(q, sql('v.read')) }}\
        {% else %}(FROM value_codes WHERE tree = {{ q.tree }}) AS d ON d.value = v.read{% endif %}
    {% endfor %}
    {% for s in model_columns if s.raw_name == of %}
    SELECT v.value, d.code
    FROM (SELECT DISTINCT {{ unchanged[s.u].name }} AS value, {{ unchanged[s.u].value }} AS read \
        FROM {{ whole_table.sensitive[s.i] }}) AS v
    JOIN {{ 'sensitive codes'|of(s) }} AS d ON d.value = v.read
    {% endfor %}
)
FROM chosen
