{#- Prediction (Majeed et al. 2024, Attack I): a random forest learns the sensitive value from the release and
    guesses that of people whose records it has not seen, from their quasi-identifiers mapped into the classes of the release: the narrowest that they fit. -#}
{%- from 'audit/risk/published_cells.sql' import ends_of, inside -%}
{# From 0 to 1 of what occurs; -1 where missing. #}
{% macro scaled(value, c, open) -%}
    CASE WHEN d.low{{ c }} IS NULL OR d.high{{ c }} = d.low{{ c }} THEN 0 ELSE least(greatest(({{ value }} - d.low{{ c }}) / (d.high{{ c }} - d.low{{ c }}), 0), 1) END
{%- endmacro %}
-- One row: the range of each column.
domain AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        min(v{{ c.i }}) FILTER (WHERE isfinite(v{{ c.i }})) AS low{{ c.i }}, max(v{{ c.i }}) FILTER (WHERE isfinite(v{{ c.i }})) AS high{{ c.i }}{% if not loop.last %},{% endif %}
        {% endfor %}
    FROM tuples
),
-- A row a class: what it publishes, as numbers.
class_features AS MATERIALIZED (
    SELECT
        k.class_id,
        [{% for c in attributes %}
            CASE WHEN k.high{{ c.i }} = '-inf'::DOUBLE THEN -1 WHEN k.low{{ c.i }} = '-inf'::DOUBLE THEN 0 ELSE {{ scaled(sql('k.low', c.i), c.i) }} END::DOUBLE,
            CASE WHEN k.high{{ c.i }} = '-inf'::DOUBLE THEN -1 WHEN k.high{{ c.i }} = 'inf'::DOUBLE THEN 1 ELSE {{ scaled(sql('k.high', c.i), c.i) }} END::DOUBLE{% if not loop.last %},{% endif %}
        {% endfor %}] AS f,
        list_sum(list_transform(range(1, len(f), 2), lambda n: f[n + 1] - f[n])) AS width
    FROM class_ends AS k
    CROSS JOIN domain AS d
),
-- A row a person: Everybody, and whether the release's records of them are learned from.
everybody AS MATERIALIZED (
    SELECT
        0 AS of, tid, {% for c in attributes %}v{{ c.i }}, {% endfor %}{% for s in sensitive %}s{{ s.i }}, {% endfor %}who,
        {% if others %}false{% else %}(md5_number_lower(concat_ws(':', {{ seed }}, {% if has_person %}coalesce(who, concat_ws(':', tid, copy)){% else %}tid{% for s in sensitive %}, coalesce('=' || s{{ s.i }}, ''){% endfor %}, copy{% endif %})) >> 11)::DOUBLE / 9007199254740992 >= {{ train }}{% endif %} AS is_asked
    FROM (SELECT *, unnest(range(records)) AS copy FROM people)
    {% if others %}
    UNION ALL
    SELECT
        1, -dense_rank() OVER (ORDER BY {% for c in attributes %}v{{ c.i }} ASC NULLS LAST{% if not loop.last %}, {% endif %}{% endfor %}),
        {% for c in attributes %}v{{ c.i }}, {% endfor %}{% for s in sensitive %}s{{ s.i }}, {% endfor %}who, true
    FROM (
        SELECT
            {% for c in attributes %}{% set o = other_of[loop.index0] %}{% if o %}coalesce({% if o.is_number %}t.v{{ o.i }}{% else %}l{{ o.i }}.place{% endif %}, '-inf'::DOUBLE){% else %}'-inf'::DOUBLE{% endif %} AS v{{ c.i }}, {% endfor %}
            {% for s in sensitive %}t.s{{ s.i }}, {% endfor %}t.who, unnest(range(t.records)) AS copy
        FROM other_cells AS t
        {% for c in others if not c.is_number %}
        LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
        {% endfor %}
    )
    {% endif %}
),
-- A row a combination of quasi-identifiers, as numbers.
points AS MATERIALIZED (
    SELECT t.tid, [{% for c in attributes %}
        CASE WHEN t.v{{ c.i }} = '-inf'::DOUBLE THEN -1 ELSE {{ scaled(sql('t.v', c.i), c.i) }} END::DOUBLE,
        CASE WHEN t.v{{ c.i }} = '-inf'::DOUBLE THEN -1 ELSE {{ scaled(sql('t.v', c.i), c.i) }} END::DOUBLE{% if not loop.last %},{% endif %}
    {% endfor %}] AS f
    FROM (SELECT DISTINCT tid{% for c in attributes %}, v{{ c.i }}{% endfor %} FROM everybody) AS t
    CROSS JOIN domain AS d
),
-- A row a combination and a class that it may be in.
fitting AS MATERIALIZED (
    SELECT * FROM pairs
    {% if others %}
    UNION ALL
    SELECT t.tid, k.class_id
    FROM (SELECT DISTINCT tid{% for c in attributes %}, v{{ c.i }}{% endfor %} FROM everybody WHERE of = 1) AS t
    CROSS JOIN class_ends AS k
    WHERE {{ inside(attributes) }}

    {% endif %}
),
-- A row a combination: the class that it is looked up in. Ties by features, as class numbers are not the same in
-- every run.
mapped AS MATERIALIZED (
    SELECT t.tid, arg_min(f.class_id, [f.width, -k.records] || f.f) AS class_id
    FROM fitting AS t
    JOIN class_features AS f USING (class_id)
    JOIN classes AS k USING (class_id)
    GROUP BY t.tid
),
{% for s in sensitive %}
-- A row a sensitive value: what is guessed for it. Numbers with many values are guessed by twenty ranges, the most
-- frequent fifty texts as they are, others not at all.
{{ 'label'|of(s) }} AS MATERIALIZED (
    SELECT value, label, dense_rank() OVER (ORDER BY is_other ASC, label ASC) AS code, is_other
    FROM (
        SELECT
            value,
            {% if s.is_numeric %}
            CASE
                WHEN values > 50 THEN '[' || (low + width * place) || ', ' || (low + width * (place + 1)) || CASE WHEN place = 19 THEN ']' ELSE ')' END
                ELSE value
            END AS label,
            false AS is_other
            {% else %}
            CASE WHEN frequency <= 50 THEN value ELSE '' END AS label, frequency > 50 AS is_other
            {% endif %}
        FROM (
            SELECT
                value, count(*) OVER () AS values, row_number() OVER (ORDER BY records DESC, value ASC) AS frequency,
                {% if s.is_numeric %}
                min(value::DOUBLE) OVER () AS low, (max(value::DOUBLE) OVER () - low) / 20 AS width,
                least(19, floor((value::DOUBLE - low) / nullif(width, 0)))::INTEGER AS place
                {% else %}
                0 AS place
                {% endif %}
            FROM (
                SELECT value, sum(records) AS records
                FROM (
                    SELECT value, size AS records FROM {{ 'overall'|of(s) }}
                    UNION ALL SELECT s{{ s.i }}, count(*) FROM everybody GROUP BY ALL
                )
                WHERE value IS NOT NULL
                GROUP BY value
            )
        )
    )
),
-- A row a class and a value: how many records are not learned from. The records of those who are asked about are
-- taken out: of a class that they fit, with their value.
{{ 'unlearned'|of(s) }} AS MATERIALIZED (
    SELECT class_id, value, sum(asked)::BIGINT AS asked
    FROM (
        SELECT e.tid, e.value, any_value(e.asked) AS asked, arg_min(h.class_id, [f.width, -h.size] || f.f) AS class_id
        FROM (SELECT tid, s{{ s.i }} AS value, count(*) AS asked FROM everybody WHERE of = 0 AND is_asked GROUP BY ALL) AS e
        JOIN pairs AS p USING (tid)
        JOIN class_features AS f USING (class_id)
        JOIN {{ 'held'|of(s) }} AS h ON h.class_id = p.class_id AND h.value = e.value
        GROUP BY e.tid, e.value
    )
    GROUP BY class_id, value
),
-- A row a class's features and a value: how many records are learned from.
{{ 'learned'|of(s) }} AS MATERIALIZED (
    SELECT f.f, l.code, sum(greatest(h.size - coalesce(u.asked, 0), 0))::BIGINT AS records
    FROM {{ 'held'|of(s) }} AS h
    JOIN class_features AS f USING (class_id)
    JOIN {{ 'label'|of(s) }} AS l ON l.value = h.value
    LEFT JOIN {{ 'unlearned'|of(s) }} AS u ON u.class_id = h.class_id AND u.value = h.value
    GROUP BY f.f, l.code
),
-- A row a person who is asked about.
{{ 'asked'|of(s) }} AS MATERIALIZED (
    SELECT e.tid, e.who, l.code, m.class_id, coalesce(f.f, p.f) AS f, p.f AS raw
    FROM everybody AS e
    JOIN {{ 'label'|of(s) }} AS l ON l.value = e.s{{ s.i }}
    JOIN points AS p USING (tid)
    LEFT JOIN mapped AS m USING (tid)
    LEFT JOIN class_features AS f ON f.class_id = m.class_id
    WHERE e.is_asked
),
{% for attack in ('f', 'raw') %}
{% set attack = sql(attack) %}
-- A row a set of features that is asked about, numbered.
place_{{ attack }}_{{ s.i }} AS MATERIALIZED (
    SELECT {{ attack }} AS f, row_number() OVER (ORDER BY {{ attack }} ASC NULLS LAST) AS id FROM (SELECT DISTINCT {{ attack }} FROM {{ 'asked'|of(s) }})
),
-- One row: what is predicted.
answer_{{ attack }}_{{ s.i }} AS MATERIALIZED (
    SELECT dbanon_attack({{ request }}, {
        'learned': (
            SELECT list({'f': f, 'label': code, 'records': records})
            {% if loop.first %}
            FROM {{ 'learned'|of(s) }}
            {% else %}
            FROM (
                SELECT p.f, l.code, count(*) AS records
                FROM everybody AS e JOIN points AS p USING (tid) JOIN {{ 'label'|of(s) }} AS l ON l.value = e.s{{ s.i }}
                WHERE NOT e.is_asked
                GROUP BY p.f, l.code
            )
            {% endif %}
            WHERE records > 0 AND (SELECT message FROM misfit) IS NULL
        ),
        'asked': (SELECT list({'id': id, 'f': f} ORDER BY id ASC) FROM place_{{ attack }}_{{ s.i }} WHERE (SELECT message FROM misfit) IS NULL)
    }) AS answer
),
{% endfor %}
-- A row a person who is asked about: what is guessed.
{{ 'guessed'|of(s) }} AS MATERIALIZED (
    SELECT e.*, t.place AS guess, t.confidence, r.place AS raw_guess
    FROM {{ 'asked'|of(s) }} AS e
    JOIN place_f_{{ s.i }} AS a ON a.f = e.f
    JOIN (SELECT unnest((answer).rows, max_depth := 2) FROM answer_f_{{ s.i }}) AS t ON t.id = a.id
    JOIN place_raw_{{ s.i }} AS b ON b.f = e.raw
    JOIN (SELECT unnest((answer).rows, max_depth := 2) FROM answer_raw_{{ s.i }}) AS r ON r.id = b.id
),
-- A row a code: the value that it is.
{{ 'name'|of(s) }} AS MATERIALIZED (SELECT code, any_value(label) AS label FROM {{ 'label'|of(s) }} WHERE NOT is_other GROUP BY code),
-- A row a code: its share. Whoever knows only how frequent values are.
{{ 'common'|of(s) }} AS MATERIALIZED (
    SELECT code, records::DOUBLE / sum(records) OVER () AS share
    FROM (SELECT code, sum(records) AS records FROM {{ 'learned'|of(s) }} GROUP BY code)
    ORDER BY records DESC, code ASC
    LIMIT 1
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, 1::BIGINT AS records, n.label AS guess, g.confidence, m.share AS baseline_confidence,
        (g.guess = g.code)::INTEGER::DOUBLE AS actual_accuracy, 1::BIGINT AS tried, CASE WHEN g.who IS NULL THEN [] ELSE [g.who] END AS who, NULL::VARCHAR AS note
    FROM {{ 'guessed'|of(s) }} AS g
    JOIN {{ 'name'|of(s) }} AS n ON n.code = g.guess
    CROSS JOIN {{ 'common'|of(s) }} AS m
    WHERE round(g.confidence, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
failed AS MATERIALIZED (
    SELECT coalesce({% for s in sensitive %}(SELECT (answer).error FROM answer_f_{{ s.i }}), (SELECT (answer).error FROM answer_raw_{{ s.i }}), {% endfor %}NULL) AS message
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT v.place + 3 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value, v.majority_baseline, v.raw_baseline, v.description
    FROM (
        SELECT
            count(*)::DOUBLE AS asked, (SELECT sum(records) FROM {{ 'learned'|of(s) }})::DOUBLE AS learned,
            (SELECT count(*) FROM everybody WHERE NOT is_asked AND s{{ s.i }} IS NOT NULL)::DOUBLE AS learned_raw,
            avg((g.guess = g.code AND n.code IS NOT NULL)::INTEGER) AS accuracy, avg((g.raw_guess = g.code AND r.code IS NOT NULL)::INTEGER) AS raw_accuracy,
            avg((m.code = g.code AND c.code IS NOT NULL)::INTEGER) AS common
        FROM {{ 'guessed'|of(s) }} AS g
        LEFT JOIN {{ 'name'|of(s) }} AS n ON n.code = g.guess
        LEFT JOIN {{ 'name'|of(s) }} AS r ON r.code = g.raw_guess
        CROSS JOIN {{ 'common'|of(s) }} AS m
        LEFT JOIN {{ 'name'|of(s) }} AS c ON c.code = m.code
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'accuracy', accuracy, common, raw_accuracy, 'Share of the people who were guessed right: by the release, by the most frequent value, by the raw data.'),
        (2, 'asked', asked, asked, asked, 'People who were guessed.'),
        (3, 'learned', learned, learned, learned_raw, 'Records that were learned from.')
    ) AS v (place, name, value, majority_baseline, raw_baseline, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
