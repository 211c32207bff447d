{#- Every distinct record that is released and the classes to which it was assigned. A left join is not reordered and
    builds its hash table on the narrow side, and it loses no record: the gate sees one without a class. Class -1 is
    suppressed. -#}
{% macro records() -%}
source AS s LEFT JOIN record_classes AS l ON l.rid = s.rid\
    {% if nulls == 'drop' %} WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}s.{{ q.column }} \
        IS NOT NULL{% endfor %}{% endif %}\
    {% if suppress %}{% if nulls == 'drop' %} AND {% else %} WHERE {% endif %}l.class_id IS DISTINCT FROM -1{% endif +%}
{%- endmacro %}
{#- Every kind of record that is clustered and its group: gid, rid, size. -#}
{% macro record_groups() -%} (SELECT gid, unnest(members, max_depth := 2) FROM code_groups) {%- endmacro %}
{#- The number of records: in the class, or all if there is no class. -#}
{% macro dealt() -%} coalesce(l.size, s.size) {%- endmacro %}
{#- The others. -#}
{% macro unreleased() -%}
source AS s LEFT JOIN record_classes AS l ON l.rid = s.rid
    WHERE false{% if nulls == 'drop' %}{% for q in quasi %} OR s.{{ q.column }} IS NULL{% endfor %}{% endif %}\
        {% if suppress %} OR l.class_id IS NOT DISTINCT FROM -1{% endif %}
{%- endmacro %}
{#- Suppressed and dropped records, by reason. -#}
{% macro reasons() -%}
SELECT sum(size)::BIGINT AS size, {% if person %}count(DISTINCT s.person) AS persons, {% endif %}reason
    FROM (
        SELECT {{ dealt() }} AS size, {% if person %}s.person, {% endif %}CASE WHEN l.class_id = -1 THEN 'outlier' \
            ELSE 'null' END AS reason
        FROM source AS s LEFT JOIN record_classes AS l ON l.rid = s.rid
        WHERE l.class_id IS NULL OR l.class_id = -1
    ) AS s
    GROUP BY reason
{%- endmacro %}
{#- The records that are clustered. -#}
{% macro usable() -%}
    {% if nulls == 'drop' %}usable_records{% else %}source{% endif %}
{%- endmacro %}
{#- The columns that distinguish published values: for types whose equal values can have different texts (a month and
    30 days), the text, too. Readers see the text, so a text that is rare is a rare value. -#}
{% macro shown_values(columns, prefix=sql('')) -%}
    {% for u in columns %}{% if not loop.first %}, {% endif %}{{ prefix }}{{ u.column }}\
        {% if not u.text_is_value %}, {{ prefix }}{{ 'text'|of(u) }}{% endif %}{% endfor %}
{%- endmacro %}
