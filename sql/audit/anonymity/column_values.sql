{#- The value of each class by one model: a SELECT of (number, class_id, value). A class is as good as its worst part,
    and one without any known person achieves nothing: 0, or the maximum if less is better. Values are rounded, so
    that equal classes have equal values. -#}
{% macro value(m) %}
SELECT {{ m.number }} AS number, class_id, round(value, 12) + 0.0::DOUBLE AS value
FROM (
    {% if not m.file %}
    SELECT class_id, size::DOUBLE AS value FROM classes
    {% else %}
    SELECT
        k.class_id, coalesce({% if m.higher %}min(v.value), 0.0{% else %}max(v.value), {{ m.most }}{% endif %}) AS value
    FROM classes AS k
    LEFT JOIN (
        SELECT p.whole_class, j.value
        FROM {{ 'parts'|of(m) }} AS p
        JOIN ({{ measure(m) }}) AS j USING (class_id)
    ) AS v ON v.whole_class = k.class_id
    GROUP BY k.class_id
    {% endif %}
)
{% endmacro %}
{% macro measure(m) %}
{% import m.file as model %}
{{ model.measure(
    m.measure,
    {
        'held': 'class values'|of(m), 'body': 'parts'|of(m), 'overall': 'values'|of(m),
        'places': ('places for ' ~ m.name)|of(m),
    },
    m.settings,
) }}
{% endmacro %}
{% macro places(m) %}
{% import m.file as model %}
{% if sensitive[m.sensitive].rows %}
{{ model.places(
    m.measure, 'values'|of(m), 'hierarchy'|of(m), sql('(SELECT label, place FROM ', 'nodes'|of(m), ' WHERE is_leaf)')
) }}
{% else %}
{{ model.places(m.measure, 'values'|of(m), none, none) }}
{% endif %}
{% endmacro %}
