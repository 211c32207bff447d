{#- Refinement, bounded and reconstructed (Chhillar et al. 2025): whoever knows that records were not left in a class where
    another one was cheaper knows how few of its records can have values that another class publishes.
    dbanon_refine gives the greatest number of records of a class in an interval of a column, and the losses that tell which of
    several classes somebody is in. Whether that is so, the source says where it tells who is in which class. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/attacks/tight_intervals.sql' import tight -%}
{#- Whether the value of t lies in one of the spans of g. -#}
{% macro within(c, g) -%}
    len(list_filter({{ g }}.spans, lambda x: t.v{{ c.i }} BETWEEN (x).low AND (x).high)) > 0
{%- endmacro %}
{#- A value of a number as a text, as `told` is one: times have no date. -#}
{% macro shown(c, value, told) -%}
    {% if c.unit_us == 86400000000 %}(DATE '1970-01-01' + {{ value }}::INTEGER)::VARCHAR
    {%- elif c.is_moment %}CASE WHEN contains({{ told }}, ':') AND NOT contains({{ told }}, '-') THEN make_timestamp({{ value }}::BIGINT)::TIME::VARCHAR ELSE make_timestamp({{ value }}::BIGINT)::VARCHAR END
    {%- elif c.step == 1 %}{{ value }}::HUGEINT::VARCHAR
    {%- else %}{{ value }}::{{ c.text_type }}::VARCHAR
    {%- endif %}
{%- endmacro %}
{% for c in attributes if c.is_number or c.rows %}
{{ tight(c) }}
{% endfor %}
-- One row: what the attack computes.
answer AS MATERIALIZED (
    SELECT dbanon_refine({{ request }}, {
        'classes': (
            SELECT list(
                {'id': k.class_id, 'records': k.records, 'f': [{% for c in attributes %}e.low{{ c.i }}, e.high{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %}]}
                ORDER BY {% for c in attributes %}k.q{{ c.i }} ASC NULLS LAST{% if not loop.last %}, {% endif %}{% endfor %}

            )
            FROM classes AS k
            JOIN class_ends AS e USING (class_id)
            WHERE (SELECT message FROM misfit) IS NULL
        ),
        'nodes': [
            {% for c in attributes %}
            {% if c.rows and not c.is_number %}
            (SELECT list({'first': b.low, 'last': b.high, 'depth': (len(n.line) - 1)::DOUBLE} ORDER BY n.places ASC) FROM {{ 'node'|of(c) }} AS n JOIN {{ 'below'|of(c) }} AS b ON b.node = n.node)
            {%- else %}
            NULL
            {%- endif %}{% if not loop.last %},{% endif %}

            {% endfor %}
        ]::STRUCT(first DOUBLE, last DOUBLE, depth DOUBLE)[][],
        'tight': [{% for c in attributes %}{% if c.is_number or c.rows %}(SELECT is_tight FROM {{ 'tight'|of(c) }}){% else %}false{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}],
        'k': {% if k %}{{ k }}::BIGINT{% else %}(SELECT min(records) FROM classes){% endif %}

    }) AS answer
),
-- A row a bound: of a class, at most so many records have a value from low to high in a column.
bounds AS MATERIALIZED (
    SELECT r.id AS class_id, r.place AS number, r.low, r.high, r.most
    FROM (SELECT unnest((answer).rows, max_depth := 2) FROM answer) AS r
),
-- A row a class: what a record loses in it, and what is saved where one goes out.
losses AS MATERIALIZED (
    SELECT l.id AS class_id, l.own, l.freed
    FROM (SELECT unnest((answer).losses, max_depth := 2) FROM answer) AS l
),
-- A row a combination of quasi-identifiers: how many people have it.
together AS MATERIALIZED (SELECT tid, sum(records)::BIGINT AS records FROM people GROUP BY tid),
-- A row a combination that one class publishes as it is, to as many records as there are such people: where they are.
home AS MATERIALIZED (
    SELECT p.tid, p.class_id
    FROM class_ends AS e
    JOIN classes AS k USING (class_id)
    JOIN pairs AS p USING (class_id)
    JOIN together AS g USING (tid)
    WHERE {% for c in attributes %}e.low{{ c.i }} = e.high{{ c.i }} AND {% endfor %}k.records = g.records
),
-- A row a combination of raw values, sensitive ones too, and a class that its people may be in; in how many they may be.
fits AS MATERIALIZED (
    SELECT u.tid, u.records, u.who, p.class_id, count(*) OVER (PARTITION BY u.uid) AS classes
    FROM (
        SELECT row_number() OVER () AS uid, *
        FROM (
            SELECT tid{% for s in sensitive %}, s{{ s.i }}{% endfor %}, sum(records)::BIGINT AS records, list(DISTINCT who) FILTER (WHERE who IS NOT NULL) AS who
            FROM people
            GROUP BY tid{% for s in sensitive %}, s{{ s.i }}{% endfor %}

        )
    ) AS u
    JOIN pairs AS p USING (tid)
    LEFT JOIN home AS h USING (tid)
    {% for s in sensitive if s.is_known %}
    JOIN {{ 'held'|of(s) }} AS h{{ s.i }} ON h{{ s.i }}.class_id = p.class_id AND h{{ s.i }}.value IS NOT DISTINCT FROM u.s{{ s.i }}
    {% endfor %}
    WHERE h.class_id IS NULL OR h.class_id = p.class_id
),
{% for c in attributes if c.is_number or c.rows %}
-- A row a class and a guess: the values that at most so many records have, and their share of what is published.
{{ 'guess'|of(c) }} AS MATERIALIZED (
    SELECT
        b.class_id, b.most, any_value(k.records)::BIGINT AS records, sum(b.share) AS share,
        list({'low': CASE WHEN b.said = 'missing' THEN '-inf'::DOUBLE ELSE b.low END, 'high': CASE WHEN b.said = 'missing' THEN '-inf'::DOUBLE ELSE b.high END}) AS spans,
        'not ' || string_agg(b.said, ', ' ORDER BY b.low ASC) AS guess
    FROM (
        SELECT
            b.class_id, b.most, b.low, b.high,
            {% if c.is_number %}
            (b.high - b.low + {{ c.step }}) / (e.high{{ c.i }} - e.low{{ c.i }} + {{ c.step }}) AS share,
            {{ shown(c, sql('b.low'), sql('k.q', c.i)) }} || CASE WHEN b.low < b.high THEN ' to ' || {{ shown(c, sql('b.high'), sql('k.q', c.i)) }} ELSE '' END AS said
            {% else %}
            CASE WHEN b.low < 0 THEN 0 ELSE (b.high - b.low + 1) / (least(e.high{{ c.i }}, w.high) - greatest(e.low{{ c.i }}, 0) + 1) END AS share,
            CASE WHEN b.low < 0 THEN 'missing' ELSE n.label END AS said
            {% endif %}
        FROM bounds AS b
        JOIN class_ends AS e USING (class_id)
        JOIN classes AS k USING (class_id)
        {% if not c.is_number %}
        CROSS JOIN {{ 'whole'|of(c) }} AS w
        LEFT JOIN (
            SELECT b.low, b.high, arg_max(n.label, len(n.line)) AS label
            FROM {{ 'node'|of(c) }} AS n JOIN {{ 'below'|of(c) }} AS b ON b.node = n.node
            GROUP BY b.low, b.high
        ) AS n ON n.low = b.low AND n.high = b.high
        {% endif %}
        WHERE b.number = {{ c.i }} AND b.most >= 0
    ) AS b
    JOIN classes AS k USING (class_id)
    GROUP BY b.class_id, b.most
),
-- A row a class and a guess: how many records have these values for sure, how many may, and who has none of them.
{{ 'truth'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, most, coalesce(sum(records) FILTER (WHERE classes = 1 AND is_within), 0) AS wrong, count(*) FILTER (WHERE classes > 1 AND is_within) AS unsure,
        flatten(list(who) FILTER (WHERE classes = 1 AND NOT is_within)) AS who
    FROM (
        SELECT f.*, g.most, {{ within(c, sql('g')) }} AS is_within
        FROM {{ 'guess'|of(c) }} AS g
        JOIN fits AS f USING (class_id)
        JOIN tuples AS t USING (tid)
    )
    GROUP BY class_id, most
),
{% endfor %}
-- A row a combination of quasi-identifiers: how many classes its people fit, how many are left where none is that they
-- would have left for a cheaper one, and which where it is one.
left_over AS MATERIALIZED (
    SELECT tid, count(*) AS before, count(*) FILTER (WHERE is_left) AS after, CASE WHEN before > 1 AND after = 1 THEN any_value(class_id) FILTER (WHERE is_left) END AS class_id
    FROM (
        SELECT p.tid, p.class_id, l.freed <= min(l.own) OVER (PARTITION BY p.tid) + 1e-9 AS is_left
        FROM pairs AS p
        JOIN losses AS l USING (class_id)
    )
    GROUP BY tid
),
{% for s in sensitive %}
-- A row a class: its most frequent value.
{{ 'guess'|of(s) }} AS MATERIALIZED (
    SELECT class_id, arg_max(value, (size, value)) AS value, max(size) AS size
    FROM {{ 'held'|of(s) }}
    WHERE value IS NOT NULL
    GROUP BY class_id
),
-- A row a combination of people who are placed: how frequent that value is in all classes that they fit.
{{ 'before'|of(s) }} AS MATERIALIZED (
    SELECT l.tid, sum(coalesce(h.size, 0))::DOUBLE / sum(k.records) AS share
    FROM left_over AS l
    JOIN {{ 'guess'|of(s) }} AS g USING (class_id)
    JOIN pairs AS p ON p.tid = l.tid
    JOIN classes AS k ON k.class_id = p.class_id
    LEFT JOIN {{ 'held'|of(s) }} AS h ON h.class_id = p.class_id AND h.value = g.value
    GROUP BY l.tid
),
-- A row a class: who is placed there, and how many of them have that value.
{{ 'truth'|of(s) }} AS MATERIALIZED (
    SELECT
        l.class_id, sum(e.records)::BIGINT AS people, sum(b.share * e.records) / sum(e.records) AS baseline_confidence,
        {% if s.is_known %}coalesce(sum(e.records) FILTER (WHERE e.s{{ s.i }} = g.value), 0){% else %}NULL::BIGINT{% endif %} AS hits,
        list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL) AS who
    FROM left_over AS l
    JOIN {{ 'guess'|of(s) }} AS g USING (class_id)
    JOIN {{ 'before'|of(s) }} AS b USING (tid)
    JOIN people AS e USING (tid)
    GROUP BY l.class_id
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    SELECT
        NULL::BIGINT AS number, NULL::VARCHAR AS attribute, NULL::BIGINT AS class_id, NULL::BIGINT AS records, NULL::VARCHAR AS guess, NULL::DOUBLE AS confidence,
        NULL::DOUBLE AS baseline_confidence, NULL::DOUBLE AS actual_accuracy, NULL::BIGINT AS tried, NULL::VARCHAR[] AS who, NULL::VARCHAR AS note
    WHERE false
    {% for c in attributes if c.is_number or c.rows %}
    UNION ALL
    SELECT
        {{ c.i }} AS number, {{ c.label }} AS attribute, g.class_id, g.records, g.guess, 1 - g.most / g.records AS confidence, 1 - g.share AS baseline_confidence,
        CASE WHEN t.unsure = 0 THEN greatest(1 - t.wrong / g.records, 0) END AS actual_accuracy, g.records AS tried, coalesce(t.who, []) AS who,
        CASE WHEN g.most = 0 THEN 'a' ELSE 'more than ' || g.most END || ' record' || CASE WHEN g.most < 2 THEN '' ELSE 's' END || ' of these values would lose less in another class' AS note
    FROM {{ 'guess'|of(c) }} AS g
    LEFT JOIN {{ 'truth'|of(c) }} AS t USING (class_id, most)
    WHERE round(1 - g.most / g.records, 9) >= {{ threshold }}
    {% endfor %}
    {% for s in sensitive %}
    UNION ALL
    SELECT
        {{ quasi|length + s.i }}, {{ s.label }}, t.class_id, t.people, g.value, g.size / k.records, t.baseline_confidence, t.hits / t.people, t.people, coalesce(t.who, []),
        'they fit other classes too, and would have left these for this one'
    FROM {{ 'truth'|of(s) }} AS t
    JOIN {{ 'guess'|of(s) }} AS g USING (class_id)
    JOIN classes AS k USING (class_id)
    WHERE round(g.size / k.records, 9) >= {{ threshold }}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
failed AS MATERIALIZED (SELECT (answer).error AS message FROM answer),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    SELECT v.place, v.name, NULL::VARCHAR AS attribute, v.value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, v.description
    FROM (
        SELECT
            (SELECT (answer).examined FROM answer)::DOUBLE AS examined, (SELECT count(*) FROM bounds WHERE most < 0)::DOUBLE AS n_contradictions,
            coalesce(sum(g.records) FILTER (WHERE before > 1), 0)::DOUBLE AS n_ambiguous, coalesce(sum(g.records) FILTER (WHERE before > after), 0)::DOUBLE AS fewer,
            coalesce(sum(g.records) FILTER (WHERE l.class_id IS NOT NULL), 0)::DOUBLE AS n_resolved,
            (
                SELECT sum(f.records) FILTER (WHERE f.class_id = l.class_id) / sum(f.records)
                FROM left_over AS l JOIN fits AS f USING (tid)
                WHERE l.class_id IS NOT NULL AND f.classes = 1
            ) AS resolved_accuracy
        FROM left_over AS l JOIN together AS g USING (tid)
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'examined', examined, 'Classes that had a record to spare and were looked at, those that lose most: nothing is inferred of the others.'),
        (2, 'n_contradictions', n_contradictions, 'Of these, where no records could be as it is assumed: the algorithm is another one, and nothing is inferred.'),
        (3, 'n_ambiguous', n_ambiguous, 'People who fit more than one class by their quasi-identifiers.'),
        (4, 'fewer', fewer, 'Of these, who would have left one of those classes for a cheaper one.'),
        (5, 'n_resolved', n_resolved, 'Of these, to whom one class alone is left: their sensitive values are among those of that class.'),
        (6, 'resolved_accuracy', resolved_accuracy, 'Share of these who are in that class, of those of whom the source tells; NULL where it tells of nobody.')
    ) AS v (place, name, value, description)
    {% for c in attributes if c.is_number or c.rows %}
    UNION ALL
    SELECT v.place + 10 + 2 * {{ c.i }}, v.name, {{ c.label }}, v.value, NULL, NULL, v.description
    FROM (
        SELECT coalesce(sum(records), 0)::DOUBLE AS narrowed, coalesce(sum(share * records) / sum(records), 0)::DOUBLE AS ruled_out
        FROM {{ 'guess'|of(c) }}
        WHERE most = 0
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'narrowed', narrowed, 'Records of classes that publish values which none of their records can have.'),
        (2, 'ruled_out', ruled_out, 'Share of the published values that such a record cannot have, on average.')
    ) AS v (place, name, value, description)
    {% endfor %}
)
