{#- Every record that is released and the class it was placed in. A left join is not reordered and builds its hash table
    on what is narrow, and it loses no record: one without a class is seen by the gate. Class -1 is left out. -#}
{% macro records() -%}
source AS s LEFT JOIN placed AS l ON l.rid = s.rid
    {% if nulls == 'drop' %}WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}s.q{{ q.i }} IS NOT NULL{% endfor %}{% endif %}
    {% if suppress %}{% if nulls == 'drop' %} AND {% else %}WHERE {% endif %}l.class_id IS DISTINCT FROM -1{% endif %}
{%- endmacro %}
{#- Records that are left out, by reason. -#}
{% macro reasons() -%}
SELECT count(*) AS size, {% if person %}count(DISTINCT s.person) AS persons, {% endif %}reason
    FROM (
        SELECT {% if person %}s.person, {% endif %}CASE WHEN l.class_id = -1 THEN 'outlier' ELSE 'null' END AS reason
        FROM source AS s LEFT JOIN placed AS l ON l.rid = s.rid
        WHERE l.class_id IS NULL OR l.class_id = -1
    ) AS s
    GROUP BY reason
{%- endmacro %}
