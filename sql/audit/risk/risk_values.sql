{#- The value of each class for a number of risk(): a SELECT of (class_id, value); a class that is left out has 0. -#}
{% macro value(n) %}
{% if n.of == 'prosecutor' or (n.of == 'marketer' and not others and not fraction) %}
{# Records of nobody known are those of one person, who may be anybody. #}
SELECT class_id, 1.0::DOUBLE / greatest(size, 1) AS value FROM classes
{% elif n.of in ('journalist', 'marketer') and fraction %}
SELECT class_id, {{ fraction }} / greatest(size, 1) AS value FROM classes
{% elif n.of in ('journalist', 'marketer') %}
{# The released people are of the population, whatever the table says. #}
SELECT k.class_id, 1.0::DOUBLE / greatest(k.size, coalesce(f.people, 0), 1) AS value
FROM classes AS k
LEFT JOIN fits AS f USING (class_id)
{% elif n.of == 'single' %}
SELECT class_id, 1 AS value FROM classes WHERE size <= 1
{% elif n.of == 'alone' %}
SELECT k.class_id, 1 AS value
FROM classes AS k
LEFT JOIN fits AS f USING (class_id)
WHERE greatest(k.size, coalesce(f.people, 0)) <= 1
{% elif n.of in ('literal', 'dominant') %}
SELECT h.class_id, {% if n.of == 'literal' %}avg{% else %}max{% endif %}(greatest(1, h.size) / k.size) AS value
FROM {{ 'held'|of(sensitive[n.i]) }} AS h
JOIN classes AS k USING (class_id)
WHERE h.value IS NOT NULL
GROUP BY h.class_id
{% elif n.of == 'exposed' %}
{# The dominant value is that of the whole table. Of a sample of the classes both sums are of its classes: every class is
    as likely in it, so their ratio estimates that of all, with a bias that vanishes as the sample grows. #}
SELECT
    d.class_id,
    CASE
        WHEN d.size {% if ties %}={% else %}>{% endif %} (
            SELECT {% if ties %}max(size){% else %}coalesce(list_sort(list(size), 'DESC', 'NULLS LAST')[2], 0){% endif %}
            FROM {{ 'held'|of(sensitive[n.i]) }} AS h
            WHERE h.class_id = d.class_id AND h.value IS NOT NULL
        ) THEN d.size::DOUBLE / d.everywhere
        ELSE 0
    END AS value
FROM (
    SELECT h.class_id, h.size, sum(h.size) OVER () AS everywhere
    FROM {{ 'held'|of(sensitive[n.i]) }} AS h
    JOIN (SELECT value FROM {{ 'overall'|of(sensitive[n.i]) }} WHERE value IS NOT NULL ORDER BY size DESC, value ASC LIMIT 1) AS m
        ON m.value = h.value
    {% if sample %}SEMI JOIN drawn USING (class_id){% endif %}
) AS d
{% elif n.of == 'alike' %}
SELECT class_id, min(size) AS value
FROM (
    SELECT k.class_id, {% if person %}greatest(count(DISTINCT c.person), 1){% else %}sum(c.records)::BIGINT{% endif %} AS size
    FROM cells AS c
    JOIN classes AS k
        ON {% for q in quasi %}{% if not loop.first %} AND {% endif %}k.q{{ loop.index0 }} IS NOT DISTINCT FROM c.q{{ loop.index0 }}{% endfor %}
    GROUP BY k.class_id{% for u in beside %}, c.u{{ loop.index0 }}{% endfor %}
)
GROUP BY class_id
{% elif n.of == 'distortion' %}
SELECT k.class_id, 0.0::DOUBLE{% for c in attributes %} + {{ c.influence }} * coalesce(s{{ c.i }}.raised, 0){% endfor %} AS value
FROM classes AS k
{% for c in attributes %}
LEFT JOIN {{ 'shift'|of(c) }} AS s{{ c.i }} ON s{{ c.i }}.published = k.q{{ c.i }}
{% endfor %}
{% else %}
SELECT k.class_id, 1 AS value
FROM classes AS k
{% for c in attributes %}
LEFT JOIN {{ 'shift'|of(c) }} AS s{{ c.i }} ON s{{ c.i }}.published = k.q{{ c.i }}
{% endfor %}
WHERE {% for c in attributes %}coalesce(s{{ c.i }}.is_vague OR s{{ c.i }}.width > {{ w }}, false){% if not loop.last %} OR {% endif %}{% endfor %}
{% endif %}
{% endmacro %}
{#- shift_i (published, raised, width, is_vague): how far a published value is from an original one, as a share of levels;
    how wide it is, as a share of the column's range (NULL where it is no number); whether it is *, the root or open.
    A number without a hierarchy has no levels: its width stands for them. A category without one has two: the value, and
    whatever stands for several. -#}
{% macro shift(c) %}
{{ 'shift'|of(c) }} AS MATERIALIZED (
    {% if c.is_number %}
    SELECT published, CASE WHEN published = '*' THEN 1 ELSE width END AS raised, width, is_vague
    FROM (
        SELECT
            published, published = '*' OR is_below OR is_above AS is_vague,
            {# An exact value has no width, whatever the range: of a constant column that is 0 too. #}
            CASE WHEN interval_high = interval_low THEN 0.0 ELSE coalesce(least(1.0, (interval_high - interval_low) / nullif(column_high - column_low, 0)), 1.0) END AS width
        FROM (
            SELECT
                r.published, r.is_below, r.is_above, d.low AS column_low, d.high AS column_high,
                CASE WHEN is_below THEN least(r.low, d.low) ELSE r.low END AS interval_low,
                CASE WHEN is_above THEN greatest(r.high, d.high) ELSE r.high END AS interval_high
            FROM (
                SELECT *, starts_with(published, '<=') OR starts_with(published, '[<=') AS is_below, regexp_matches(published, '(?:^|, )>=') AS is_above
                FROM {{ 'read'|of(c) }}
            ) AS r
            CROSS JOIN (SELECT min(v{{ c.i }}) AS low, max(v{{ c.i }}) AS high FROM {{ c.source_cells }}) AS d
        )
    )
    {% elif c.rows %}
    {# The level of an inner node is counted from the root: one step below it is the same whatever hangs there. #}
    SELECT
        r.published, any_value(CASE WHEN n.is_leaf THEN 0 ELSE t.levels - n.depth END::DOUBLE / {% if norm %}greatest(t.levels - 1, 1){% else %}t.levels{% endif %}) AS raised,
        {% if c.is_numeric %}
        any_value((TRY_CAST(b.value AS DOUBLE) - TRY_CAST(a.value AS DOUBLE)) / nullif(d.high - d.low, 0)){% else %}NULL::DOUBLE{% endif %} AS width,
        r.published = '*' OR any_value(n.depth = 1 AND NOT n.is_leaf) AS is_vague
    FROM {{ 'read'|of(c) }} AS r
    JOIN (
        SELECT unnest([label, array_to_string(labels[2:], ' > ')]) AS name, len(labels) AS depth, false AS is_leaf FROM {{ 'node'|of(c) }} WHERE NOT is_leaf
        UNION ALL
        SELECT unnest([CASE WHEN value NOT IN (SELECT label FROM {{ 'node'|of(c) }} WHERE NOT is_leaf) THEN value END, '\' || value]), 0, true FROM {{ 'leaf'|of(c) }}
        UNION ALL
        {# Whatever the root is called. #}
        SELECT CASE WHEN label <> '*' THEN '*' END, 1, false FROM {{ 'node'|of(c) }} WHERE parent IS NULL
    ) AS n ON n.name = r.published
    {% if c.is_numeric %}
    LEFT JOIN {{ 'leaf'|of(c) }} AS a ON a.place = r.low
    LEFT JOIN {{ 'leaf'|of(c) }} AS b ON b.place = r.high
    CROSS JOIN (SELECT min(TRY_CAST(v{{ c.i }} AS DOUBLE)) AS low, max(TRY_CAST(v{{ c.i }} AS DOUBLE)) AS high FROM {{ c.source_cells }}) AS d
    {% endif %}
    CROSS JOIN (SELECT max(len(labels)) AS levels FROM {{ 'node'|of(c) }}) AS t
    GROUP BY r.published
    {% else %}
    SELECT
        r.published, CASE WHEN l.value IS NULL THEN {% if norm %}1{% else %}0.5{% endif %} ELSE 0 END::DOUBLE AS raised,
        NULL::DOUBLE AS width, r.published = '*' AS is_vague
    FROM {{ 'read'|of(c) }} AS r
    LEFT JOIN {{ 'leaf'|of(c) }} AS l ON r.published IN (l.value, '\' || l.value)
    {% endif %}
),
{% endmacro %}
