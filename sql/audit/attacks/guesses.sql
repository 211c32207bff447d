{#- Attacks that read a sensitive value off a class. guess_s (class_id, guess, confidence, baseline_confidence, records, ruled, note): what the
    attacker says of the people of a class who have none of the values that were ruled out; hit_s (guess, value): what makes
    it right. Then found, as all attacks give it. -#}
{% for s in sensitive %}
{% if kind == 'similarity' %}
{% if s.nodes %}
-- A row a guess and a sensitive value that makes it right. Inner nodes but the root, with the leaves below them.
{{ 'hit'|of(s) }} AS MATERIALIZED (
    SELECT DISTINCT
        n.label || CASE WHEN n.same = 1 THEN '' ELSE ' (' || array_to_string(n.labels[2:], ' > ') || ')' END AS guess,
        len(n.labels) AS depth, l.label AS value
    FROM (SELECT *, count(*) OVER (PARTITION BY label) AS same FROM {{ 'preorder'|of(s) }} WHERE NOT is_leaf AND parent IS NOT NULL) AS n
    JOIN {{ 'preorder'|of(s) }} AS l ON l.is_leaf AND list_contains(l.line, n.node)
),
-- A row a class and a guess about its people: how confident it is.
{{ 'guess'|of(s) }} AS MATERIALIZED (
    SELECT class_id, guess, confidence, baseline_confidence, records, []::VARCHAR[] AS ruled, NULL::VARCHAR AS note
    FROM (
        SELECT
            h.class_id, g.guess, sum(h.size)::DOUBLE / any_value(k.size) AS confidence, any_value(o.share) AS baseline_confidence, any_value(k.records) AS records,
            row_number() OVER (PARTITION BY h.class_id ORDER BY any_value(g.depth) DESC, sum(h.size) DESC, g.guess ASC) AS place
        FROM {{ 'held'|of(s) }} AS h
        JOIN {{ 'hit'|of(s) }} AS g ON g.value = h.value
        JOIN classes AS k USING (class_id)
        JOIN (
            SELECT guess, sum(size)::DOUBLE / (SELECT sum(size) FROM {{ 'overall'|of(s) }}) AS share
            FROM {{ 'overall'|of(s) }} JOIN {{ 'hit'|of(s) }} USING (value)
            GROUP BY guess
        ) AS o ON o.guess = g.guess
        GROUP BY h.class_id, g.guess
        HAVING round(sum(h.size)::DOUBLE / any_value(k.size), 9) >= {{ threshold }}
    )
    WHERE place = 1
),
{% else %}
-- A row a guess and a sensitive value that makes it right.
{{ 'hit'|of(s) }} AS (SELECT NULL::VARCHAR AS guess, NULL::VARCHAR AS value WHERE false),
-- A row a class and a guess about its people: how confident it is.
{{ 'guess'|of(s) }} AS (SELECT NULL::BIGINT AS class_id, NULL::VARCHAR AS guess, 0.0::DOUBLE AS confidence, 0.0::DOUBLE AS baseline_confidence, 0 AS records, []::VARCHAR[] AS ruled, NULL::VARCHAR AS note WHERE false),
{% endif %}
{% else %}
-- A row a guess and a sensitive value that makes it right.
{{ 'hit'|of(s) }} AS MATERIALIZED (SELECT value AS guess, value FROM {{ 'overall'|of(s) }} WHERE value IS NOT NULL),
-- A row a class and a guess about its people: how confident it is.
{{ 'guess'|of(s) }} AS MATERIALIZED (
    {% if kind == 'background' %}
    {# The other values in order of how many have them: what is ruled out are the most frequent ones. #}
    SELECT
        class_id, guess, confidence, baseline_confidence, left_over AS records, coalesce(ruled, []) AS ruled,
        CASE WHEN len(ruled) > 0 THEN 'who do not have: ' || array_to_string(ruled, ', ') END AS note
    FROM (
        SELECT
            h.class_id, h.value AS guess, any_value(o.size)::DOUBLE / ((SELECT sum(size) FROM {{ 'overall'|of(s) }}) - coalesce(list_sum(list(y.size ORDER BY x.size DESC, x.value ASC) FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}]), 0)) AS baseline_confidence,
            list(x.value ORDER BY x.size DESC, x.value ASC) FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}] AS ruled,
            any_value(k.size) - coalesce(list_sum(list(x.size ORDER BY x.size DESC, x.value ASC) FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}]), 0) AS left_over,
            any_value(h.size)::DOUBLE / left_over AS confidence
        FROM {{ 'held'|of(s) }} AS h
        JOIN classes AS k USING (class_id)
        JOIN {{ 'overall'|of(s) }} AS o ON o.value = h.value
        LEFT JOIN {{ 'held'|of(s) }} AS x ON x.class_id = h.class_id AND x.value <> h.value
        LEFT JOIN {{ 'overall'|of(s) }} AS y ON y.value = x.value
        GROUP BY h.class_id, h.value
    )
    WHERE round(confidence, 9) >= {{ threshold }}
    {% else %}
    SELECT class_id, guess, confidence, baseline_confidence, records, []::VARCHAR[] AS ruled, NULL::VARCHAR AS note
    FROM (
        SELECT
            h.class_id, h.value AS guess, h.size::DOUBLE / k.size AS confidence, o.size::DOUBLE / (SELECT sum(size) FROM {{ 'overall'|of(s) }}) AS baseline_confidence, k.records,
            row_number() OVER (PARTITION BY h.class_id ORDER BY h.size DESC, h.value ASC) AS place
        FROM {{ 'held'|of(s) }} AS h
        JOIN classes AS k USING (class_id)
        JOIN {{ 'overall'|of(s) }} AS o ON o.value = h.value
    )
    WHERE {% if kind == 'skewness' %}round(confidence - baseline_confidence, 9) >= {{ threshold }}{% else %}place = 1 AND round(confidence, 9) >= {{ threshold }}{% endif %}
    {% endif %}
),
{% endif %}
-- A row a combination of quasi-identifiers and a guess about it. Whom a guess is about: people who fit no class of
-- which it is not guessed.
{{ 'sure'|of(s) }} AS MATERIALIZED (
    SELECT p.tid, g.guess
    FROM pairs AS p
    JOIN (SELECT tid, count(*) AS classes FROM pairs GROUP BY tid) AS a USING (tid)
    JOIN {{ 'guess'|of(s) }} AS g USING (class_id)
    GROUP BY p.tid, g.guess
    HAVING count(*) = any_value(a.classes)
),
-- A row a class and a guess: how often it is right.
{{ 'truth'|of(s) }} AS MATERIALIZED (
    SELECT
        g.class_id, g.guess, list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL) AS who,
        sum(e.records) FILTER (WHERE {% if s.is_known %}true{% else %}false{% endif %}) AS people,
        coalesce(sum(e.records) FILTER (WHERE h.value IS NOT NULL), 0) AS hits
    FROM {{ 'guess'|of(s) }} AS g
    JOIN pairs AS p USING (class_id)
    JOIN {{ 'sure'|of(s) }} AS u ON u.tid = p.tid AND u.guess = g.guess
    JOIN people AS e ON e.tid = p.tid AND (e.s{{ s.i }} IS NULL OR NOT list_contains(g.ruled, e.s{{ s.i }}))
    LEFT JOIN {{ 'hit'|of(s) }} AS h ON h.guess = g.guess AND h.value = e.s{{ s.i }}
    GROUP BY g.class_id, g.guess
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, g.records::BIGINT AS records, g.guess, g.confidence, g.baseline_confidence,
        t.hits / nullif(t.people, 0) AS actual_accuracy, t.people AS tried, coalesce(t.who, []) AS who, g.note
    FROM {{ 'guess'|of(s) }} AS g
    LEFT JOIN {{ 'truth'|of(s) }} AS t ON t.class_id = g.class_id AND t.guess = g.guess
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS name, NULL::VARCHAR AS attribute, NULL::DOUBLE AS value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, NULL::VARCHAR AS description
    WHERE false
)
