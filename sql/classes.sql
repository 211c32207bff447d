{#- NAME_classes('table', ...): one row an equivalence class. -#}
{% include 'part/path.sql' %},
{% include 'part/measured.sql' %}
SELECT
    c.class_id AS {{ class_id }},
    c.size AS {{ names.size }},
    {% if person %}c.persons AS {{ names.persons }},{% endif %}
    {% for o in quasi_output %}{{ o.expression }} AS {{ o.name }}, {% endfor %}
    c.loss / {{ quasi|length }} AS {{ names.loss }}
    {% for u in unchanged if u.is_sensitive %}
    , (SELECT list(struct_pack(value := v.value, size := v.size) ORDER BY v.size DESC, v.value ASC NULLS LAST{% if not u.text_is_value %}, v.value::VARCHAR ASC NULLS LAST{% endif %})
        FROM sensitive_{{ u.i }} AS v WHERE v.class_id = c.class_id) AS {{ u.name }}
    {% endfor %}
FROM class_of AS c
WHERE (SELECT passed FROM gate)
ORDER BY c.class_id ASC
