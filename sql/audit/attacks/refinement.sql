{#- Refinement, bounded and reconstructed (Chhillar et al. 2025): an attacker who knows that no record was left in a
    class while another one was cheaper knows how few of its records can have values that another class publishes.
    dbanon_refine returns the greatest number of records of a class in an interval of a column, and the losses that
    decide which of several classes a person is in. The source shows whether this is true where it determines who is
    in which class. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/attacks/tight_intervals.sql' import tight -%}
{#- Whether the value of t lies in one of the spans of g. -#}
{% macro within(c, g) -%}
    len(list_filter({{ g }}.spans, lambda x: t.{{ c.column }} BETWEEN (x).low AND (x).high)) > 0
{%- endmacro %}
{#- A number as a text in the form of `sample_text`: times have no date. -#}
{% macro value_text(c, value, sample_text) -%}
    {% if c.unit_us == 86400000000 %}(DATE '1970-01-01' + {{ value }}::INTEGER)::VARCHAR
    {%- elif c.is_moment %}CASE WHEN contains({{ sample_text }}, ':')
        AND NOT contains({{ sample_text }}, '-') THEN make_timestamp({{ value }}::BIGINT)::TIME::VARCHAR
            ELSE make_timestamp({{ value }}::BIGINT)::VARCHAR END
    {%- elif c.step == 1 %}{{ value }}::HUGEINT::VARCHAR
    {%- else %}{{ value }}::{{ c.text_type }}::VARCHAR
    {%- endif %}
{%- endmacro %}
{% for c in attributes if c.is_number or c.has_hierarchy %}
{{ tight(c) }}
{% endfor %}
-- One row: what the Python function of the attack returns.
answers AS MATERIALIZED (
    SELECT dbanon_refine({{ request }}, {
        'classes': (
            SELECT list(
                {'id': k.class_id, 'records': k.records,
                    'f': [{% for c in attributes %}e.{{ 'low'|of(c) }}, e.{{ 'high'|of(c) }}{% if not loop.last %},
                        {% endif %}{% endfor %}]}
                ORDER BY {% for c in attributes %}k.{{ c.column }} ASC NULLS LAST{% if not loop.last %},
                    {% endif %}{% endfor %}

            )
            FROM classes AS k
            JOIN class_ends AS e USING (class_id)
            WHERE (SELECT message FROM misfits) IS NULL
        ),
        'nodes': [
            {% for c in attributes %}
            {% if c.has_hierarchy and not c.is_number %}
            (
                SELECT list({'first': low, 'last': high, 'depth': (len(line) - 1)::DOUBLE} ORDER BY places ASC)
                FROM nodes
                WHERE attribute = {{ c.key }}
            )
            {%- else %}
            NULL
            {%- endif %}{% if not loop.last %},{% endif %}

            {% endfor %}
        ]::STRUCT(first DOUBLE, last DOUBLE, depth DOUBLE)[][],
        'tight': [{% for c in attributes %}{% if c.is_number or c.has_hierarchy %}(SELECT is_tight
            FROM {{ 'tightness'|of(c) }}){% else %}false{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}],
        'k': {% if k %}{{ k }}::BIGINT{% else %}(SELECT min(records) FROM classes){% endif %}

    }) AS answers
),
-- One row per bound: at most `most` records of the class have a value from low to high in the column.
bounds AS MATERIALIZED (
    SELECT r.id AS class_id, r.place AS number, r.low, r.high, r.most
    FROM (SELECT unnest((answers).rows, max_depth := 2) FROM answers) AS r
),
-- One row per class: the loss of a record in it, and the loss that is saved if one is removed.
losses AS MATERIALIZED (
    SELECT l.id AS class_id, l.own, l.freed
    FROM (SELECT unnest((answers).losses, max_depth := 2) FROM answers) AS l
),
-- One row per combination of quasi-identifiers: its number of people.
tuple_sizes AS MATERIALIZED (SELECT tuple_id, sum(records)::BIGINT AS records FROM people GROUP BY tuple_id),
-- One row per combination that a class publishes exactly, with as many records as people: the class that they are in.
own_classes AS MATERIALIZED (
    SELECT p.tuple_id, p.class_id
    FROM class_ends AS e
    JOIN classes AS k USING (class_id)
    JOIN candidate_classes AS p USING (class_id)
    JOIN tuple_sizes AS g USING (tuple_id)
    WHERE {% for c in attributes %}e.{{ 'low'|of(c) }} = e.{{ 'high'|of(c) }} AND {% endfor %}k.records = g.records
),
-- One row per combination of raw and sensitive values and class that its people may be in, with the number of classes.
fits AS MATERIALIZED (
    SELECT u.tuple_id, u.records, u.identities, p.class_id, count(*) OVER (PARTITION BY u.uid) AS classes
    FROM (
        SELECT row_number() OVER () AS uid, *
        FROM (
            SELECT tuple_id{% for s in sensitive %}, {{ s.column }}{% endfor %}, sum(records)::BIGINT AS records, 
                list(DISTINCT identity) FILTER (WHERE identity IS NOT NULL) AS identities
            FROM people
            GROUP BY tuple_id{% for s in sensitive %}, {{ s.column }}{% endfor %}

        )
    ) AS u
    JOIN candidate_classes AS p USING (tuple_id)
    LEFT JOIN own_classes AS h USING (tuple_id)
    {% for s in sensitive if s.is_known %}
    JOIN {{ 'class values'|of(s) }} AS {{ 'class value'|of(s) }}
        ON {{ 'class value'|of(s) }}.class_id = p.class_id
        AND {{ 'class value'|of(s) }}.value IS NOT DISTINCT FROM u.{{ s.column }}
    {% endfor %}
    WHERE h.class_id IS NULL OR h.class_id = p.class_id
),
{% for c in attributes if c.is_number or c.has_hierarchy %}
-- One row per class and guess: the values that at most `most` records have, and their share of what is published.
{{ 'guesses'|of(c) }} AS MATERIALIZED (
    SELECT
        b.class_id, b.most, any_value(k.records)::BIGINT AS records, sum(b.share) AS share,
        list({'low': CASE WHEN b.shown_text = 'missing' THEN '-inf'::DOUBLE ELSE b.low END,
            'high': CASE WHEN b.shown_text = 'missing' THEN '-inf'::DOUBLE ELSE b.high END}) AS spans,
        'not ' || string_agg(b.shown_text, ', ' ORDER BY b.low ASC) AS guess
    FROM (
        SELECT
            b.class_id, b.most, b.low, b.high,
            {% if c.is_number %}
            (b.high - b.low + {{ c.step }}) / (e.{{ 'high'|of(c) }} - e.{{ 'low'|of(c) }} + {{ c.step }}) AS share,
            {{ value_text(c, sql('b.low'), sql('k.', c.column)) }} || CASE
                WHEN b.low < b.high THEN ' to ' || {{ value_text(c, sql('b.high'), sql('k.', c.column)) }}
                    ELSE '' END AS shown_text
            {% else %}
            CASE WHEN b.low < 0 THEN 0
                ELSE (b.high - b.low + 1)
                    / (least(e.{{ 'high'|of(c) }}, w.high) - greatest(e.{{ 'low'|of(c) }}, 0) + 1) END AS share,
            CASE WHEN b.low < 0 THEN 'missing' ELSE n.label END AS shown_text
            {% endif %}
        FROM bounds AS b
        JOIN class_ends AS e USING (class_id)
        JOIN classes AS k USING (class_id)
        {% if not c.is_number %}
        JOIN column_ranges AS w ON w.attribute = {{ c.key }}
        LEFT JOIN (
            SELECT low, high, arg_max(label, len(line)) AS label
            FROM nodes
            WHERE attribute = {{ c.key }}
            GROUP BY low, high
        ) AS n ON n.low = b.low AND n.high = b.high
        {% endif %}
        WHERE b.number = {{ c.i }} AND b.most >= 0
    ) AS b
    JOIN classes AS k USING (class_id)
    GROUP BY b.class_id, b.most
),
-- One row per class and guess: the number of records that certainly have these values, the number of combinations that
-- may, and the people who have none of them.
{{ 'outcomes'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, most, coalesce(sum(records) FILTER (WHERE classes = 1 AND is_within), 0) AS wrong,
        count(*) FILTER (WHERE classes > 1 AND is_within) AS unsure,
        flatten(list(identities) FILTER (WHERE classes = 1 AND NOT is_within)) AS identities
    FROM (
        SELECT f.*, g.most, {{ within(c, sql('g')) }} AS is_within
        FROM {{ 'guesses'|of(c) }} AS g
        JOIN fits AS f USING (class_id)
        JOIN tuples AS t USING (tuple_id)
    )
    GROUP BY class_id, most
),
{% endfor %}
-- One row per combination of quasi-identifiers: the number of classes that its people fit, the number without those
-- that they would have left for a cheaper one, and the remaining class if there is only one.
remaining_classes AS MATERIALIZED (
    SELECT
        tuple_id, count(*) AS n_before, count(*) FILTER (WHERE is_left) AS n_after,
        CASE WHEN n_before > 1 AND n_after = 1 THEN any_value(class_id) FILTER (WHERE is_left) END AS class_id
    FROM (
        SELECT p.tuple_id, p.class_id, l.freed <= min(l.own) OVER (PARTITION BY p.tuple_id) + 1e-9 AS is_left
        FROM candidate_classes AS p
        JOIN losses AS l USING (class_id)
    )
    GROUP BY tuple_id
),
{% for s in sensitive %}
-- One row per class: its most frequent value.
{{ 'guesses'|of(s) }} AS MATERIALIZED (
    SELECT class_id, arg_max(value, (size, value)) AS value, max(size) AS size
    FROM {{ 'class values'|of(s) }}
    WHERE value IS NOT NULL
    GROUP BY class_id
),
-- One row per combination with one remaining class: the share of its value in all classes that the people fit.
{{ 'previous shares'|of(s) }} AS MATERIALIZED (
    SELECT l.tuple_id, sum(coalesce(h.size, 0))::DOUBLE / sum(k.records) AS share
    FROM remaining_classes AS l
    JOIN {{ 'guesses'|of(s) }} AS g USING (class_id)
    JOIN candidate_classes AS p ON p.tuple_id = l.tuple_id
    JOIN classes AS k ON k.class_id = p.class_id
    LEFT JOIN {{ 'class values'|of(s) }} AS h ON h.class_id = p.class_id AND h.value = g.value
    GROUP BY l.tuple_id
),
-- One row per class: the people for whom only it remains, and the number of them who have its value.
{{ 'outcomes'|of(s) }} AS MATERIALIZED (
    SELECT
        l.class_id, sum(e.records)::BIGINT AS people, sum(b.share * e.records) / sum(e.records) AS baseline_confidence,
        {% if s.is_known %}coalesce(sum(e.records) FILTER (WHERE e.{{ s.column }} = g.value),
            0){% else %}NULL::BIGINT{% endif %} AS hits,
        list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL) AS identities
    FROM remaining_classes AS l
    JOIN {{ 'guesses'|of(s) }} AS g USING (class_id)
    JOIN {{ 'previous shares'|of(s) }} AS b USING (tuple_id)
    JOIN people AS e USING (tuple_id)
    GROUP BY l.class_id
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    SELECT
        NULL::BIGINT AS number, NULL::VARCHAR AS attribute, NULL::BIGINT AS class_id, NULL::BIGINT AS records,
        NULL::VARCHAR AS guess, NULL::DOUBLE AS confidence,
        NULL::DOUBLE AS baseline_confidence, NULL::DOUBLE AS actual_accuracy, NULL::BIGINT AS n_tried,
        NULL::VARCHAR[] AS identities, NULL::VARCHAR AS note
    WHERE false
    {% for c in attributes if c.is_number or c.has_hierarchy %}
    UNION ALL
    SELECT
        {{ c.i }} AS number, {{ c.label }} AS attribute, g.class_id, g.records, g.guess,
        1 - g.most / g.records AS confidence, 1 - g.share AS baseline_confidence,
        CASE WHEN t.unsure = 0 THEN greatest(1 - t.wrong / g.records, 0) END AS actual_accuracy, g.records AS n_tried,
            coalesce(t.identities, []) AS identities,
        CASE WHEN g.most = 0 THEN 'a' ELSE 'more than ' || g.most END || ' record' || CASE WHEN g.most < 2 THEN ''
            ELSE 's' END || ' of these values would lose less in another class' AS note
    FROM {{ 'guesses'|of(c) }} AS g
    LEFT JOIN {{ 'outcomes'|of(c) }} AS t USING (class_id, most)
    WHERE round(1 - g.most / g.records, 9) >= {{ threshold }}
    {% endfor %}
    {% for s in sensitive %}
    UNION ALL
    SELECT
        {{ quasi|length + s.i }}, {{ s.label }}, t.class_id, t.people, g.value, g.size / k.records,
        t.baseline_confidence, t.hits / t.people, t.people, coalesce(t.identities, []),
        'they fit other classes too, and would have left these for this one'
    FROM {{ 'outcomes'|of(s) }} AS t
    JOIN {{ 'guesses'|of(s) }} AS g USING (class_id)
    JOIN classes AS k USING (class_id)
    WHERE round(g.size / k.records, 9) >= {{ threshold }}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
computation_errors AS MATERIALIZED (SELECT (answers).error AS message FROM answers),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    SELECT
        v.place, v.name, NULL::VARCHAR AS attribute, v.value, NULL::DOUBLE AS majority_baseline,
        NULL::DOUBLE AS raw_baseline, v.description
    FROM (
        SELECT
            (SELECT (answers).examined FROM answers)::DOUBLE AS examined,
                (SELECT count(*) FROM bounds WHERE most < 0)::DOUBLE AS n_contradictions,
            coalesce(sum(g.records) FILTER (WHERE n_before > 1), 0)::DOUBLE AS n_ambiguous,
            coalesce(sum(g.records) FILTER (WHERE n_before > n_after), 0)::DOUBLE AS n_with_fewer_classes,
            coalesce(sum(g.records) FILTER (WHERE l.class_id IS NOT NULL), 0)::DOUBLE AS n_resolved,
            (
                SELECT sum(f.records) FILTER (WHERE f.class_id = l.class_id) / sum(f.records)
                FROM remaining_classes AS l JOIN fits AS f USING (tuple_id)
                WHERE l.class_id IS NOT NULL AND f.classes = 1
            ) AS resolved_accuracy
        FROM remaining_classes AS l JOIN tuple_sizes AS g USING (tuple_id)
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'examined', examined,
            'Classes that had a record to spare and were looked at, those that lose most: '
            || 'nothing is inferred of the others.'),
        (2, 'n_contradictions', n_contradictions,
            'Of these, classes whose records contradict the assumption: '
            || 'the algorithm is another one, and nothing is inferred.'),
        (3, 'n_ambiguous', n_ambiguous, 'People who fit more than one class by their quasi-identifiers.'),
        (4, 'n_with_fewer_classes', n_with_fewer_classes,
            'Of these, people who would have left one of those classes for a cheaper one.'),
        (5, 'n_resolved', n_resolved,
            'Of these, people to whom exactly one class is left: '
            || 'their sensitive values are among those of that class.'),
        (6, 'resolved_accuracy', resolved_accuracy,
            'Share of these people who are in that class, according to the source; NULL if it shows this for no one.')
    ) AS v (place, name, value, description)
    {% for c in attributes if c.is_number or c.has_hierarchy %}
    UNION ALL
    SELECT v.place + 10 + 2 * {{ c.i }}, v.name, {{ c.label }}, v.value, NULL, NULL, v.description
    FROM (
        SELECT
            coalesce(sum(records), 0)::DOUBLE AS n_narrowed,
            coalesce(sum(share * records) / sum(records), 0)::DOUBLE AS ruled_out
        FROM {{ 'guesses'|of(c) }}
        WHERE most = 0
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'narrowed', n_narrowed, 'Records of classes that publish values which none of their records can have.'),
        (2, 'ruled_out', ruled_out, 'Share of the published values that such a record cannot have, on average.')
    ) AS v (place, name, value, description)
    {% endfor %}
)
