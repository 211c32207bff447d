{#- The value of each class by one model: a SELECT of (class_id, value). A class is as good as its worst part, and one
    without any known person achieves nothing: 0, or where less is better the most there can be. Rounded, so that equal
    classes have equal values. -#}
{% macro value(m) %}
SELECT class_id, round(value, 12) + 0.0::DOUBLE AS value
FROM (
    {% if not m.file %}
    SELECT class_id, size::DOUBLE AS value FROM classes
    {% else %}
    SELECT k.class_id, coalesce({% if m.higher %}min(v.value), 0.0{% else %}max(v.value), {{ m.most }}{% endif %}) AS value
    FROM classes AS k
    LEFT JOIN (
        SELECT p.whole, j.value
        FROM {{ 'part'|of(sensitive[m.sensitive]) }} AS p
        JOIN ({{ measure(m) }}) AS j USING (class_id)
    ) AS v ON v.whole = k.class_id
    GROUP BY k.class_id
    {% endif %}
)
{% endmacro %}
{% macro measure(m) %}
{% import m.file as model %}
{{ model.measure(m.measure, {'held': 'held'|of(sensitive[m.sensitive]), 'body': 'part'|of(sensitive[m.sensitive]), 'overall': 'overall'|of(sensitive[m.sensitive]), 'places': sql('places_', m.number)}, m.settings) }}
{% endmacro %}
{% macro places(m, s) %}
{% import m.file as model %}
{% if s.rows %}{{ model.places(m.measure, 'overall'|of(s), 'hierarchy'|of(s), sql('(SELECT label, place FROM ', 'node'|of(s), ' WHERE is_leaf)')) }}
{% else %}{{ model.places(m.measure, 'overall'|of(s), none, none) }}
{% endif %}
{% endmacro %}
