{#- What a category may be published as, climbed from the stored hierarchy as far as the policy says: covering_i (value,
    published). `*` may always stand for it, since NULL may be in the class. -#}
{% for q in quasi if not rules[q.i].is_number %}
{% set r = rules[q.i] %}
{# How many steps up from the value it may be published. #}
{% set steps %}list_filter(range(0, len(labels)), lambda n: n >= least({{ r.min_level }}, len(labels) - 1){% if r.max_level is not none %} AND n <= {{ r.max_level }}{% endif %}{% if r.round > 1 %} AND ((n = 0 AND is_leaf) OR (len(labels) - 1 - n) % {{ r.round }} = 0){% endif %}){% endset %}
{% if q.rows %}
-- The gate climbs the stored hierarchy: a row a value and a node above it, with the labels passed.
{{ 'climb'|of(q) }} AS (
    SELECT v.value, r.parent, [r.label] AS labels, NOT EXISTS (FROM {{ 'hierarchy'|of(q) }} AS below WHERE below.parent = r.node) AS is_leaf
    FROM (SELECT DISTINCT q{{ q.i }} AS value FROM source WHERE q{{ q.i }} IS NOT NULL) AS v
    JOIN {{ 'hierarchy'|of(q) }} AS r ON r.label = v.value
    WHERE NOT EXISTS (FROM {{ 'hierarchy'|of(q) }} AS below WHERE below.parent = r.node)
    {%- if escape %} OR NOT EXISTS (
        FROM {{ 'hierarchy'|of(q) }} AS leaf
        WHERE leaf.label = v.value AND NOT EXISTS (FROM {{ 'hierarchy'|of(q) }} AS below WHERE below.parent = leaf.node)
    ){% endif %}
    UNION ALL
    SELECT c.value, r.parent, list_append(c.labels, r.label), c.is_leaf
    FROM {{ 'climb'|of(q) }} AS c
    JOIN {{ 'hierarchy'|of(q) }} AS r ON r.node = c.parent
    {# What is no tree is refused elsewhere, but perhaps later than this runs: a circle must end. #}
    WHERE len(c.labels) < (SELECT count(*) FROM {{ 'hierarchy'|of(q) }})
),
-- A row a value and a text that it may be published as.
{{ 'ancestors'|of(q) }} AS (
    SELECT DISTINCT value, unnest(list_concat(
        list_transform(steps, lambda n: labels[n + 1]),
        list_transform(list_filter(steps, lambda n: n < len(labels) - 1), lambda n: array_to_string(list_reverse(labels[n + 1:len(labels) - 1]), ' > ')),
        ['*']{% if escape %}, CASE WHEN list_contains(steps, 0) THEN ['\' || value] ELSE [] END{% endif %}
    )) COLLATE POSIX AS published
    FROM (SELECT *, {{ steps }} AS steps FROM {{ 'climb'|of(q) }} WHERE parent IS NULL)
),
{% else %}
-- A row a value and a text that it may be published as.
{{ 'ancestors'|of(q) }} AS (
    SELECT DISTINCT value, unnest(['*'{% if r.min_level == 0 %}, value{% if escape %}, '\' || value{% endif %}{% endif %}]) COLLATE POSIX AS published
    FROM (SELECT DISTINCT q{{ q.i }} AS value FROM source WHERE q{{ q.i }} IS NOT NULL)
),
{% endif %}
{% endfor %}
