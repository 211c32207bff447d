{#- Prediction (Majeed et al. 2024, Attack I): a random forest learns the sensitive value from the release and guesses
    that of people whose records it has not seen, from their quasi-identifiers as the narrowest class that they fit
    publishes them. -#}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, value_of -%}
{%- from 'audit/risk/published_cells.sql' import inside with context -%}
{# From 0 to 1 in the range of the column. #}
{% macro scaled(value, c) -%}
    {% set low = 'low'|of(c) -%}
    {% set high = 'high'|of(c) -%}
    CASE
                WHEN d.{{ low }} IS NULL OR d.{{ high }} = d.{{ low }} THEN 0
                ELSE least(greatest(({{ value }} - d.{{ low }}) / (d.{{ high }} - d.{{ low }}), 0), 1)
            END
{%- endmacro %}
{% set columns %}{% for c in attributes %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}{% endset %}
{% set values %}{% for s in sensitive %}{{ s.column }}, {% endfor %}{% endset %}
-- One row: the range of each column.
domains AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        min({{ c.column }}) FILTER (WHERE isfinite({{ c.column }})) AS {{ 'low'|of(c) }},
        max({{ c.column }})
            FILTER (WHERE isfinite({{ c.column }})) AS {{ 'high'|of(c) }}{% if not loop.last %},{% endif +%}
        {% endfor %}
    FROM tuples
),
-- One row per class: what it publishes, as numbers from 0 to 1 for both ends of each column; -1 if it is missing.
class_features AS MATERIALIZED (
    SELECT
        k.class_id,
        [
            {% for c in attributes %}
            {% set low = 'low'|of(c) %}
            {% set high = 'high'|of(c) %}
            CASE
                WHEN k.{{ high }} = '-inf'::DOUBLE THEN -1
                WHEN k.{{ low }} = '-inf'::DOUBLE THEN 0
                ELSE {{ scaled(sql('k.', low), c) }}
            END::DOUBLE,
            CASE
                WHEN k.{{ high }} = '-inf'::DOUBLE THEN -1
                WHEN k.{{ high }} = 'inf'::DOUBLE THEN 1
                ELSE {{ scaled(sql('k.', high), c) }}
            END::DOUBLE{% if not loop.last %},{% endif +%}
            {% endfor %}
        ] AS features,
        list_sum(list_transform(range(1, len(features), 2), lambda n: features[n + 1] - features[n])) AS width
    FROM class_ends AS k
    CROSS JOIN domains AS d
),
-- One row per person, of the source and of the register: is_guessed if the release's records of them are not learned
-- from.
all_people AS MATERIALIZED (
    SELECT
        false AS is_registered, tuple_id, {{ columns }}, {{ values }}identity,
        {% if others %}
        false AS is_guessed
        {% else %}
        (md5_number_lower(concat_ws(
            ':', {{ seed }},
            {% if has_person %}
            coalesce(identity, concat_ws(':', tuple_id, copy))
            {% else %}
            tuple_id{% for s in sensitive %}, coalesce('=' || {{ s.column }}, ''){% endfor %}, copy
            {% endif %}
        )) >> 11)::DOUBLE / 9007199254740992 >= {{ train }} AS is_guessed
        {% endif %}
    FROM (SELECT *, unnest(range(records)) AS copy FROM people)
    {% if others %}
    UNION ALL
    SELECT
        true,
        -dense_rank() OVER (ORDER BY {% for c in attributes %}{{ c.column }} ASC NULLS LAST{% if not loop.last %},
            {% endif %}{% endfor %}),
        {{ columns }}, {{ values }}identity, true
    FROM (
        SELECT
            {% for c in attributes %}
            {% set o = other_of[loop.index0] %}
            {% if o %}coalesce({{ value_of(o) }}, '-inf'::DOUBLE){% else %}'-inf'::DOUBLE{% endif %} AS {{ c.column }},
            {% endfor %}
            {% for s in sensitive %}t.{{ s.column }}, {% endfor %}t.identity, unnest(range(t.records)) AS copy
        FROM population_cells AS t
        {{ leaf_joins(others) }}
    )
    {% endif %}
),
-- One row per combination of quasi-identifiers: its exact values as features; both ends of each column are equal.
tuple_features AS MATERIALIZED (
    SELECT
        t.tuple_id,
        [
            {% for c in attributes %}
            CASE WHEN t.{{ c.column }} = '-inf'::DOUBLE THEN -1 ELSE {{ scaled(sql('t.', c.column), c) }} END::DOUBLE,
            CASE WHEN t.{{ c.column }} = '-inf'::DOUBLE THEN -1
                ELSE {{ scaled(sql('t.', c.column), c) }} END::DOUBLE{% if not loop.last %},{% endif +%}
            {% endfor %}
        ] AS features
    FROM (SELECT DISTINCT tuple_id, {{ columns }} FROM all_people) AS t
    CROSS JOIN domains AS d
),
-- One row per combination and class that it may be in, also of the register.
all_candidates AS MATERIALIZED (
    SELECT * FROM candidate_classes
    {% if others %}
    UNION ALL
    SELECT t.tuple_id, k.class_id
    FROM (SELECT DISTINCT tuple_id, {{ columns }} FROM all_people WHERE is_registered) AS t
    CROSS JOIN class_ends AS k
    WHERE
        {{ inside(attributes) }}

    {% endif %}
),
-- One row per combination: the class that it is looked up in. Ties are decided by features, because class
-- numbers differ between runs.
looked_up_classes AS MATERIALIZED (
    SELECT t.tuple_id, arg_min(f.class_id, [f.width, -k.records] || f.features) AS class_id
    FROM all_candidates AS t
    JOIN class_features AS f USING (class_id)
    JOIN classes AS k USING (class_id)
    GROUP BY t.tuple_id
),
{% for s in sensitive %}
-- One row per sensitive value: the label that is guessed for it. Numbers with many values have twenty ranges as labels;
-- of texts the fifty most frequent ones are labels, and others are not guessed.
{{ 'labels'|of(s) }} AS MATERIALIZED (
    SELECT value, label, dense_rank() OVER (ORDER BY is_other ASC, label ASC) AS code, is_other
    FROM (
        SELECT
            value,
            {% if s.is_numeric %}
            CASE
                WHEN values > 50 THEN '[' || (low + width * place) || ', ' || (low + width * (place + 1)) || CASE
                    WHEN place = 19 THEN ']' ELSE ')' END
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
                    SELECT value, size AS records FROM {{ 'values'|of(s) }}
                    UNION ALL SELECT {{ s.column }}, count(*) FROM all_people GROUP BY ALL
                )
                WHERE value IS NOT NULL
                GROUP BY value
            )
        )
    )
),
-- One row per class and value: the number of records that are not learned from. They are one per person who is guessed,
-- in a class that the person fits.
{{ 'unlearned records'|of(s) }} AS MATERIALIZED (
    SELECT class_id, value, sum(records)::BIGINT AS records
    FROM (
        SELECT
            e.tuple_id, e.value, any_value(e.records) AS records,
            arg_min(h.class_id, [f.width, -h.size] || f.features) AS class_id
        FROM (
            SELECT tuple_id, {{ s.column }} AS value, count(*) AS records
            FROM all_people
            WHERE NOT is_registered AND is_guessed
            GROUP BY ALL
        ) AS e
        JOIN candidate_classes AS p USING (tuple_id)
        JOIN class_features AS f USING (class_id)
        JOIN {{ 'class values'|of(s) }} AS h ON h.class_id = p.class_id AND h.value = e.value
        GROUP BY e.tuple_id, e.value
    )
    GROUP BY class_id, value
),
-- One row per combination of features and value: the number of records that are learned from.
{{ 'learned records'|of(s) }} AS MATERIALIZED (
    SELECT f.features, l.code, sum(greatest(h.size - coalesce(u.records, 0), 0))::BIGINT AS records
    FROM {{ 'class values'|of(s) }} AS h
    JOIN class_features AS f USING (class_id)
    JOIN {{ 'labels'|of(s) }} AS l ON l.value = h.value
    LEFT JOIN {{ 'unlearned records'|of(s) }} AS u ON u.class_id = h.class_id AND u.value = h.value
    GROUP BY f.features, l.code
),
-- One row per person who is guessed: features by the class that they are looked up in, and exact ones.
{{ 'guessed people'|of(s) }} AS MATERIALIZED (
    SELECT
        e.tuple_id, e.identity, l.code, m.class_id, coalesce(f.features, p.features) AS features,
        p.features AS raw_features
    FROM all_people AS e
    JOIN {{ 'labels'|of(s) }} AS l ON l.value = e.{{ s.column }}
    JOIN tuple_features AS p USING (tuple_id)
    LEFT JOIN looked_up_classes AS m USING (tuple_id)
    LEFT JOIN class_features AS f ON f.class_id = m.class_id
    WHERE e.is_guessed
),
{% for features in ('features', 'raw_features') %}
{% set features = sql(features) %}
-- One row per combination of features that is guessed, numbered.
{{ ('numbered ' ~ features)|of(s) }} AS MATERIALIZED (
    SELECT {{ features }} AS features, row_number() OVER (ORDER BY {{ features }} ASC NULLS LAST) AS id
    FROM (SELECT DISTINCT {{ features }} FROM {{ 'guessed people'|of(s) }})
),
-- One row: the predictions, as the Python function returns them.
{{ ('answers by ' ~ features)|of(s) }} AS MATERIALIZED (
    SELECT dbanon_attack({{ request }}, {
        'learned': (
            SELECT list({'f': features, 'label': code, 'records': records})
            {% if loop.first %}
            FROM {{ 'learned records'|of(s) }}
            {% else %}
            FROM (
                SELECT p.features, l.code, count(*) AS records
                FROM all_people AS e
                JOIN tuple_features AS p USING (tuple_id)
                JOIN {{ 'labels'|of(s) }} AS l ON l.value = e.{{ s.column }}
                WHERE NOT e.is_guessed
                GROUP BY p.features, l.code
            )
            {% endif %}
            WHERE records > 0 AND (SELECT message FROM misfits) IS NULL
        ),
        'asked': (
            SELECT list({'id': id, 'f': features} ORDER BY id ASC)
            FROM {{ ('numbered ' ~ features)|of(s) }}
            WHERE (SELECT message FROM misfits) IS NULL
        )
    }) AS answers
),
{% endfor %}
-- One row per person who is guessed: the guess by the release and the one by the raw data.
{{ 'predictions'|of(s) }} AS MATERIALIZED (
    SELECT e.*, t.place AS guess, t.confidence, r.place AS raw_guess
    FROM {{ 'guessed people'|of(s) }} AS e
    JOIN {{ 'numbered features'|of(s) }} AS a ON a.features = e.features
    JOIN (SELECT unnest((answers).rows, max_depth := 2) FROM {{ 'answers by features'|of(s) }}) AS t ON t.id = a.id
    JOIN {{ 'numbered raw_features'|of(s) }} AS b ON b.features = e.raw_features
    JOIN (SELECT unnest((answers).rows, max_depth := 2) FROM {{ 'answers by raw_features'|of(s) }}) AS r ON r.id = b.id
),
-- One row per code: its label.
{{ 'code labels'|of(s) }} AS MATERIALIZED (
    SELECT code, any_value(label) AS label FROM {{ 'labels'|of(s) }} WHERE NOT is_other GROUP BY code
),
-- One row: the most frequent code and its share, the guess from frequencies alone.
{{ 'most frequent code'|of(s) }} AS MATERIALIZED (
    SELECT code, records::DOUBLE / sum(records) OVER () AS share
    FROM (SELECT code, sum(records) AS records FROM {{ 'learned records'|of(s) }} GROUP BY code)
    ORDER BY records DESC, code ASC
    LIMIT 1
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, 1::BIGINT AS records, n.label AS guess,
        g.confidence, m.share AS baseline_confidence,
        (g.guess = g.code)::INTEGER::DOUBLE AS actual_accuracy, 1::BIGINT AS n_tried,
            CASE WHEN g.identity IS NULL THEN [] ELSE [g.identity] END AS identities, NULL::VARCHAR AS note
    FROM {{ 'predictions'|of(s) }} AS g
    JOIN {{ 'code labels'|of(s) }} AS n ON n.code = g.guess
    CROSS JOIN {{ 'most frequent code'|of(s) }} AS m
    WHERE round(g.confidence, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
computation_errors AS MATERIALIZED (
    SELECT
        coalesce({% for s in sensitive %}(SELECT (answers).error FROM {{ 'answers by features'|of(s) }}),
            (SELECT (answers).error FROM {{ 'answers by raw_features'|of(s) }}), {% endfor %}NULL) AS message
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        v.place + 3 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value, v.majority_baseline,
        v.raw_baseline, v.description
    FROM (
        SELECT
            count(*)::DOUBLE AS n_guessed,
            (SELECT sum(records) FROM {{ 'learned records'|of(s) }})::DOUBLE AS n_learned,
            (SELECT count(*) FROM all_people WHERE NOT is_guessed AND {{ s.column }} IS NOT NULL)::DOUBLE
                AS n_learned_raw,
            avg((g.guess = g.code AND n.code IS NOT NULL)::INTEGER) AS accuracy,
            avg((g.raw_guess = g.code AND r.code IS NOT NULL)::INTEGER) AS raw_accuracy,
            avg((m.code = g.code AND c.code IS NOT NULL)::INTEGER) AS common
        FROM {{ 'predictions'|of(s) }} AS g
        LEFT JOIN {{ 'code labels'|of(s) }} AS n ON n.code = g.guess
        LEFT JOIN {{ 'code labels'|of(s) }} AS r ON r.code = g.raw_guess
        CROSS JOIN {{ 'most frequent code'|of(s) }} AS m
        LEFT JOIN {{ 'code labels'|of(s) }} AS c ON c.code = m.code
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'accuracy', accuracy, common, raw_accuracy,
            'Share of the people whose value is guessed right: by the release, by the most frequent value, '
            || 'by the raw data.'),
        (2, 'asked', n_guessed, n_guessed, n_guessed, 'People whose value was guessed.'),
        (3, 'learned', n_learned, n_learned, n_learned_raw,
            'Records that were learned from; a few can be of people who are guessed, if these fit several classes.')
    ) AS v (place, name, value, majority_baseline, raw_baseline, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
