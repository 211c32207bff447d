{#- l-diversity (Machanavajjhala et al. 2006). What every model's file has:
    measure(name, of, settings): a SELECT of (class_id, value), one row per class, over
        of.held (class_id, value, size): how many records (distinct persons) of a class have a sensitive value,
        of.body (class_id, size): how many records (distinct persons) a class has,
        of.overall (value, size): the same as held for the whole table,
        of.places: what places() gives, for a form that depends on the order or the hierarchy of the values;
    places(name, overall, rows, leaves), for such forms only: a SELECT of (value, ...), from the values of the table,
        the hierarchy (node, parent, label) and its leaves in their order (label, place); both are none without a
        hierarchy.
    A sensitive NULL never counts here. -#}
{% macro measure(name, of, settings) %}
{% if name == 'distinct' %}{{ distinct(of) }}
{% elif name == 'entropy' %}{{ entropy(of) }}
{% elif name == 'recursive' %}{{ recursive(of, settings.l) }}
{% elif name == 'longest' %}{{ longest(of, settings.c) }}
{% endif %}
{% endmacro %}
{#- How many values. -#}
{% macro distinct(of) %}
SELECT b.class_id, count(h.value)::DOUBLE AS value
FROM {{ of.body }} AS b LEFT JOIN {{ of.held }} AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- exp of the entropy. -#}
{% macro entropy(of) %}
SELECT b.class_id, coalesce(exp(ln(sum(h.size)) - sum(h.size * ln(h.size)) / sum(h.size)), 0.0) AS value
FROM {{ of.body }} AS b LEFT JOIN {{ of.held }} AS h ON h.class_id = b.class_id AND h.value IS NOT NULL
GROUP BY b.class_id
{% endmacro %}
{#- r_1 / (r_l + .. + r_m), which must be below c; infinite where there are fewer than l values. -#}
{% macro recursive(of, l) %}
SELECT b.class_id, coalesce(max(h.ratio) FILTER (WHERE h.l = {{ l }}), 'inf'::DOUBLE) AS value
FROM {{ of.body }} AS b LEFT JOIN ({{ ratios(of.held) }}) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- The reverse: the greatest l that c allows; every smaller one is allowed, too. -#}
{% macro longest(of, c) %}
SELECT b.class_id, coalesce(max(h.l) FILTER (WHERE h.ratio < {{ c }}), 0)::DOUBLE AS value
FROM {{ of.body }} AS b LEFT JOIN ({{ ratios(of.held) }}) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{% macro ratios(held) -%}
SELECT
    class_id, l,
    (max(size) OVER (PARTITION BY class_id))::DOUBLE / sum(size) OVER (PARTITION BY class_id ORDER BY l DESC) AS ratio
FROM (
    SELECT class_id, size, row_number() OVER (PARTITION BY class_id ORDER BY size DESC) AS l
    FROM {{ held }}
    WHERE value IS NOT NULL
)
{%- endmacro %}
