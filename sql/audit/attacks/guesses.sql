{#- Attacks that infer a sensitive value from a class. "disease: guesses" (class_id, guess, confidence,
    baseline_confidence, records, ruled_out, note): what the attacker infers about the people of a class who have none
    of the values that were ruled out; "disease: correct values" (guess, value): the values that make a guess right.
    Then guesses and totals, as all attacks give them. -#}
{% for s in sensitive %}
{% if kind == 'similarity' %}
{% if s.nodes %}
-- One row per guess, an inner node below the root, and sensitive value below the node, which makes it right.
{{ 'correct values'|of(s) }} AS MATERIALIZED (
    SELECT DISTINCT
        n.label || CASE WHEN n.same = 1 THEN '' ELSE ' (' || array_to_string(n.labels[2:], ' > ') || ')' END AS guess,
        len(n.labels) AS depth, l.label AS value
    FROM (
        SELECT *, count(*) OVER (PARTITION BY label) AS same
        FROM {{ 'preorder'|of(s) }} WHERE NOT is_leaf AND parent IS NOT NULL
    ) AS n
    JOIN {{ 'preorder'|of(s) }} AS l ON l.is_leaf AND list_contains(l.line, n.node)
),
-- One row per class and guess about its people: its confidence.
{{ 'guesses'|of(s) }} AS MATERIALIZED (
    SELECT class_id, guess, confidence, baseline_confidence, records, []::VARCHAR[] AS ruled_out, NULL::VARCHAR AS note
    FROM (
        SELECT
            h.class_id, g.guess, sum(h.size)::DOUBLE / any_value(k.size) AS confidence,
            any_value(o.share) AS baseline_confidence, any_value(k.records) AS records,
            row_number() OVER (PARTITION BY h.class_id ORDER BY any_value(g.depth) DESC, sum(h.size) DESC, g.guess ASC)
                AS place
        FROM {{ 'class values'|of(s) }} AS h
        JOIN {{ 'correct values'|of(s) }} AS g ON g.value = h.value
        JOIN classes AS k USING (class_id)
        JOIN (
            SELECT guess, sum(size)::DOUBLE / (SELECT sum(size) FROM {{ 'values'|of(s) }}) AS share
            FROM {{ 'values'|of(s) }} JOIN {{ 'correct values'|of(s) }} USING (value)
            GROUP BY guess
        ) AS o ON o.guess = g.guess
        GROUP BY h.class_id, g.guess
        HAVING round(sum(h.size)::DOUBLE / any_value(k.size), 9) >= {{ threshold }}
    )
    WHERE place = 1
),
{% else %}
-- One row per guess and sensitive value that makes it right.
{{ 'correct values'|of(s) }} AS (SELECT NULL::VARCHAR AS guess, NULL::VARCHAR AS value WHERE false),
-- One row per class and guess about its people: its confidence.
{{ 'guesses'|of(s) }} AS (
    SELECT
        NULL::BIGINT AS class_id, NULL::VARCHAR AS guess, 0.0::DOUBLE AS confidence, 0.0::DOUBLE AS baseline_confidence,
        0 AS records, []::VARCHAR[] AS ruled_out, NULL::VARCHAR AS note
    WHERE false
),
{% endif %}
{% else %}
-- One row per guess and sensitive value that makes it right.
{{ 'correct values'|of(s) }} AS MATERIALIZED (
    SELECT value AS guess, value FROM {{ 'values'|of(s) }} WHERE value IS NOT NULL
),
-- One row per class and guess about its people: its confidence.
{{ 'guesses'|of(s) }} AS MATERIALIZED (
    {% if kind == 'background' %}
    {# The other values of the class are ruled out, the most frequent first. #}
    SELECT
        class_id, guess, confidence, baseline_confidence, n_remaining AS records,
        coalesce(ruled_out, []) AS ruled_out,
        CASE WHEN len(ruled_out) > 0 THEN 'who do not have: ' || array_to_string(ruled_out, ', ') END AS note
    FROM (
        SELECT
            h.class_id, h.value AS guess,
            any_value(o.size)::DOUBLE / (
                (SELECT sum(size) FROM {{ 'values'|of(s) }})
                - coalesce(list_sum(list(y.size ORDER BY x.size DESC, x.value ASC)
                    FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}]), 0)
            ) AS baseline_confidence,
            list(x.value ORDER BY x.size DESC, x.value ASC)
                FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}] AS ruled_out,
            any_value(k.size) - coalesce(list_sum(list(x.size ORDER BY x.size DESC, x.value ASC)
                FILTER (WHERE x.value IS NOT NULL)[:{{ known_negatives }}]), 0) AS n_remaining,
            any_value(h.size)::DOUBLE / n_remaining AS confidence
        FROM {{ 'class values'|of(s) }} AS h
        JOIN classes AS k USING (class_id)
        JOIN {{ 'values'|of(s) }} AS o ON o.value = h.value
        LEFT JOIN {{ 'class values'|of(s) }} AS x ON x.class_id = h.class_id AND x.value <> h.value
        LEFT JOIN {{ 'values'|of(s) }} AS y ON y.value = x.value
        GROUP BY h.class_id, h.value
    )
    WHERE round(confidence, 9) >= {{ threshold }}
    {% else %}
    SELECT class_id, guess, confidence, baseline_confidence, records, []::VARCHAR[] AS ruled_out, NULL::VARCHAR AS note
    FROM (
        SELECT
            h.class_id, h.value AS guess, h.size::DOUBLE / k.size AS confidence,
            o.size::DOUBLE / (SELECT sum(size) FROM {{ 'values'|of(s) }}) AS baseline_confidence, k.records,
            row_number() OVER (PARTITION BY h.class_id ORDER BY h.size DESC, h.value ASC) AS place
        FROM {{ 'class values'|of(s) }} AS h
        JOIN classes AS k USING (class_id)
        JOIN {{ 'values'|of(s) }} AS o ON o.value = h.value
    )
    {% if kind == 'skewness' %}
    WHERE round(confidence - baseline_confidence, 9) >= {{ threshold }}
    {% else %}
    WHERE place = 1 AND round(confidence, 9) >= {{ threshold }}
    {% endif %}
    {% endif %}
),
{% endif %}
-- One row per combination of quasi-identifiers and guess about its people: the guess of all classes that they fit.
{{ 'guessed tuples'|of(s) }} AS MATERIALIZED (
    SELECT p.tuple_id, g.guess
    FROM candidate_classes AS p
    JOIN (SELECT tuple_id, count(*) AS classes FROM candidate_classes GROUP BY tuple_id) AS a USING (tuple_id)
    JOIN {{ 'guesses'|of(s) }} AS g USING (class_id)
    GROUP BY p.tuple_id, g.guess
    HAVING count(*) = any_value(a.classes)
),
-- One row per class and guess: how often it is right.
{{ 'outcomes'|of(s) }} AS MATERIALIZED (
    SELECT
        g.class_id, g.guess, list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL) AS identities,
        sum(e.records) FILTER (WHERE {% if s.is_known %}true{% else %}false{% endif %}) AS people,
        coalesce(sum(e.records) FILTER (WHERE h.value IS NOT NULL), 0) AS hits
    FROM {{ 'guesses'|of(s) }} AS g
    JOIN candidate_classes AS p USING (class_id)
    JOIN {{ 'guessed tuples'|of(s) }} AS u ON u.tuple_id = p.tuple_id AND u.guess = g.guess
    JOIN people AS e
        ON e.tuple_id = p.tuple_id AND (e.{{ s.column }} IS NULL OR NOT list_contains(g.ruled_out, e.{{ s.column }}))
    LEFT JOIN {{ 'correct values'|of(s) }} AS h ON h.guess = g.guess AND h.value = e.{{ s.column }}
    GROUP BY g.class_id, g.guess
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for s in sensitive %}
    {# Why actual_accuracy is NULL. #}
    {% set unknown_reason = sql("'no one in the source fits only classes with this guess'" if s.is_known
        else "'the source does not have this column'") %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, g.records::BIGINT AS records, g.guess,
        g.confidence, g.baseline_confidence,
        t.hits / nullif(t.people, 0) AS actual_accuracy, t.people AS n_tried, coalesce(t.identities, []) AS identities,
        nullif(concat_ws('; ', g.note, CASE WHEN t.people IS NULL THEN {{ unknown_reason }} END), '') AS note
    FROM {{ 'guesses'|of(s) }} AS g
    LEFT JOIN {{ 'outcomes'|of(s) }} AS t ON t.class_id = g.class_id AND t.guess = g.guess
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    SELECT
        NULL::INTEGER AS place, NULL::VARCHAR AS name, NULL::VARCHAR AS attribute, NULL::DOUBLE AS value,
        NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, NULL::VARCHAR AS description
    WHERE false
)
