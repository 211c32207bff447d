{#- What a category may be published as, climbed from the stored hierarchy: covering_i (value, published). -#}
{% for q in quasi if not q.is_number %}
{% if q.rows %}
climb_{{ q.i }} AS (
    SELECT v.value, r.parent, [r.label] AS labels
    FROM (SELECT DISTINCT q{{ q.i }} AS value FROM source WHERE q{{ q.i }} IS NOT NULL) AS v
    JOIN rows_{{ q.i }} AS r ON r.label = v.value
    WHERE NOT EXISTS (FROM rows_{{ q.i }} AS below WHERE below.parent = r.node)
    {%- if escape %} OR NOT EXISTS (
        FROM rows_{{ q.i }} AS leaf
        WHERE leaf.label = v.value AND NOT EXISTS (FROM rows_{{ q.i }} AS below WHERE below.parent = leaf.node)
    ){% endif %}

    UNION ALL
    SELECT c.value, r.parent, list_append(c.labels, r.label)
    FROM climb_{{ q.i }} AS c
    JOIN rows_{{ q.i }} AS r ON r.node = c.parent
    {# What is no tree is refused elsewhere, but perhaps later than this runs: a circle must end. #}
    WHERE len(c.labels) < (SELECT count(*) FROM rows_{{ q.i }})
),
covering_{{ q.i }} AS (
    SELECT DISTINCT value, unnest(list_concat(
        labels,
        list_transform(range(1, len(labels)), lambda n: array_to_string(list_reverse(labels[n:len(labels) - 1]), ' > ')),
        ['*']{% if escape %}, ['\' || value]{% endif %}
    )) COLLATE POSIX AS published
    FROM climb_{{ q.i }}
    WHERE parent IS NULL
),
{% else %}
covering_{{ q.i }} AS (
    SELECT DISTINCT value, unnest([value, '*'{% if escape %}, '\' || value{% endif %}]) COLLATE POSIX AS published
    FROM (SELECT DISTINCT q{{ q.i }} AS value FROM source WHERE q{{ q.i }} IS NOT NULL)
),
{% endif %}
{% endfor %}
