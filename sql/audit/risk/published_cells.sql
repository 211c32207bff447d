{#- Raw tables beside classes: their cells, the classes' published values as intervals, and which cells lie inside. -#}

{#- Records that nothing here tells apart: v_i of each column, who they are of where a person is known, how many. -#}
{% macro raw_cells(r) %}
-- A row a combination of raw values of a table: how many records have it.
{{ r.name }} AS MATERIALIZED (
    SELECT {% for c in r.attributes %}{{ c.value }} AS v{{ c.i }}, {% endfor %}{% if r.person %}{{ r.person }} AS person, {% endif %}count(*) AS records
    FROM {{ r.source }}
    GROUP BY ALL
),
{% endmacro %}
{#- (class_id, low_i, high_i) of classes (class_id, q_n). * is everything, missing values too; these are -infinity. -#}
{% macro ends_of(attributes, classes) %}
SELECT
    k.class_id{% for c in attributes %}{% for end in ('low', 'high') %}{% set end = sql(end) %},
    CASE
        WHEN k.q{{ c.qi_index }} = '*' THEN '{% if loop.first %}-{% endif %}inf'::DOUBLE
        WHEN k.q{{ c.qi_index }} IS NULL THEN '-inf'::DOUBLE
        {% if c.is_number %}
        {% if loop.first %}
        WHEN starts_with(k.q{{ c.qi_index }}, '<=') OR starts_with(k.q{{ c.qi_index }}, '[<=') THEN '-1e308'::DOUBLE
        {% else %}
        WHEN regexp_matches(k.q{{ c.qi_index }}, '(?:^|, )>=') THEN 'inf'::DOUBLE
        {% endif %}
        {% endif %}
        ELSE coalesce(r{{ c.i }}.{{ end }}, 'nan'::DOUBLE)
    END AS {{ end }}{{ c.i }}{% endfor %}{% endfor %}
FROM {{ classes }} AS k
{% for c in attributes %}
LEFT JOIN {{ 'read'|of(c) }} AS r{{ c.i }} ON r{{ c.i }}.published = k.q{{ c.qi_index }}
{% endfor %}
{% endmacro %}
{#- Whether the cell t lies in the class k. CASE, as a join on many inequalities would sort. -#}
{% macro inside(attributes) -%}
    {% for c in attributes %}{% if not loop.first %} AND {% endif %}CASE WHEN t.v{{ c.i }} >= k.low{{ c.i }} THEN t.v{{ c.i }} <= k.high{{ c.i }} ELSE false END{% endfor %}
{%- endmacro %}
