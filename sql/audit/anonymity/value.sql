{#- The value of each class by one model: a SELECT of (class_id, value). A class is as good as its worst part, and one
    without any known person achieves nothing: 0, or where less is better the most there can be, which of a share and
    of a distance is 1. Rounded, so that equal classes have equal values. -#}
{%- from 'models/model.sql' import distinct_values, entropy, recursive_length, greatest_share, greatest_gain, mover_distance, mover_distance_ordered -%}
{% macro value(m) %}
SELECT class_id, round(value, 12) + 0.0::DOUBLE AS value
FROM (
    {% if m.kind == 'k' %}
    SELECT class_id, size::DOUBLE AS value FROM classes
    {% else %}
    SELECT k.class_id, coalesce({% if m.higher %}min(v.value), 0.0{% else %}max(v.value), {% if m.kind in ('recursive', 'gain', 'enhanced') %}'inf'{% else %}1.0{% endif %}::DOUBLE{% endif %}) AS value
    FROM classes AS k
    LEFT JOIN (
        SELECT p.whole, j.value
        FROM part_{{ m.sensitive }} AS p
        JOIN ({{ judged(m, sql('held_', m.sensitive), sql('part_', m.sensitive), sql('overall_', m.sensitive)) }}) AS j USING (class_id)
    ) AS v ON v.whole = k.class_id
    GROUP BY k.class_id
    {% endif %}
)
{% endmacro %}
{% macro judged(m, held, body, overall) %}
{% if m.kind == 'distinct' %}{{ distinct_values(held, body) }}
{% elif m.kind == 'entropy' %}{{ entropy(held, body) }}
{% elif m.kind == 'recursive' %}{{ recursive_length(held, body, m.c) }}
{% elif m.kind == 'share' %}{{ greatest_share(held, body) }}
{% elif m.kind in ('gain', 'enhanced') %}{{ greatest_gain(held, body, overall, m.kind == 'enhanced') }}
{% elif m.kind == 'ordered' %}{{ mover_distance_ordered(held, body, overall, sql('ranks_', m.sensitive)) }}
{% elif m.kind == 'hierarchical' %}{{ mover_distance(held, body, overall, sql('sets_', m.sensitive)) }}
{% else %}{{ mover_distance(held, body, overall, sql('each_', m.sensitive)) }}
{% endif %}
{% endmacro %}
