{#- Linkage: who of a register fits how many records of the release, and how many of the register fit these. -#}
{%- from 'audit/risk/published_cells.sql' import ends_of, inside -%}
{%- from 'audit/attacks/sample.sql' import drawn_of with context -%}
{% set tried = sql('drawn' if sample else 'other_cells') %}
{% if sample %}
{{ drawn_of(sql('other_cells'), others, []) }}
{% endif %}
-- A row a combination of values of the register, numbered.
register_people AS MATERIALIZED (
    SELECT *, dense_rank() OVER (ORDER BY {% for c in others %}v{{ c.i }} ASC NULLS LAST{% if not loop.last %}, {% endif %}{% endfor %}) AS tid
    FROM (
        SELECT {% for c in others %}coalesce({% if c.is_number %}t.v{{ c.i }}{% else %}l{{ c.i }}.place{% endif %}, '-inf'::DOUBLE) AS v{{ c.i }}, {% endfor %}t.who, t.records
        FROM {{ tried }} AS t
        {% for c in others if not c.is_number %}
        LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
        {% endfor %}
        WHERE true{% for c in others if not c.is_number %} AND (t.v{{ c.i }} IS NULL OR l{{ c.i }}.place IS NOT NULL){% endfor %}
    )
),
-- A row such a combination and a class that it may be in.
register_pairs AS MATERIALIZED (
    SELECT t.tid, k.class_id, t.people
    FROM (SELECT tid{% for c in others %}, v{{ c.i }}{% endfor %}, sum(records)::BIGINT AS people FROM register_people GROUP BY ALL) AS t
    CROSS JOIN ({{ ends_of(others, sql('classes')) }}) AS k
    WHERE {{ inside(others) }}

),
-- A row a combination: how many records may be its people's, and of whom else, unless most of these were not drawn.
linked AS MATERIALIZED (
    SELECT p.tid, sum(k.records)::BIGINT AS candidates, {% if sample %}NULL::BIGINT{% else %}min(r.people)::BIGINT{% endif %} AS rivals, CASE WHEN count(*) = 1 THEN any_value(p.class_id) END AS class_id
    FROM register_pairs AS p
    JOIN classes AS k USING (class_id)
    JOIN (SELECT class_id, sum(people) AS people FROM register_pairs GROUP BY class_id) AS r USING (class_id)
    GROUP BY p.tid
),
-- A row a person who is looked for: the chance to find the record.
judged AS MATERIALIZED (
    SELECT
        e.who, e.records AS people, l.class_id, coalesce(l.candidates, 0) AS candidates, l.rivals, 1.0::DOUBLE / greatest(l.candidates, l.rivals) AS confidence,
        {% if has_person %}e.who IN (SELECT who FROM people WHERE who IS NOT NULL){% else %}NULL::BOOLEAN{% endif %} AS is_there
    FROM register_people AS e
    LEFT JOIN linked AS l USING (tid)
),
-- A row a guess that is shown.
found AS MATERIALIZED (
    SELECT
        0 AS number, NULL::VARCHAR AS attribute, class_id, candidates::BIGINT AS records, NULL::VARCHAR AS guess, confidence,
        1.0::DOUBLE / (SELECT sum(records) FROM classes) AS baseline_confidence, CASE WHEN is_there THEN 1.0 / candidates WHEN NOT is_there THEN 0 END::DOUBLE AS actual_accuracy,
        people AS tried, [who] AS who, 'fits ' || candidates || ' records'{% if not sample %} || ', which fit ' || rivals || ' of the register or more'{% endif %} AS note
    FROM judged
    WHERE candidates > 0 AND round(confidence, 9) >= {{ threshold }}
),
-- A row a combination of the register: The same on the raw data: how many records of the source have exactly these
-- values.
raw_matches AS MATERIALIZED (
    SELECT any_value(o.people) AS people, coalesce(sum(t.records), 0) AS candidates
    FROM (SELECT {% for c in others %}v{{ c.i }}, {% endfor %}sum(records) AS people FROM {{ tried }} GROUP BY ALL) AS o
    LEFT JOIN true_cells AS t ON {% for c in others %}{% if not loop.first %} AND {% endif %}t.v{{ c.qi_index }} IS NOT DISTINCT FROM o.v{{ c.i }}{% endfor %}
    GROUP BY {% for c in others %}o.v{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %}
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    SELECT v.place, v.name, NULL::VARCHAR AS attribute, v.value, NULL::DOUBLE AS majority_baseline, v.raw_baseline, v.description
    FROM (
        SELECT
            (SELECT sum(records) FROM other_cells)::DOUBLE AS registered,
            coalesce(sum(people) FILTER (WHERE candidates > 0), 0)::DOUBLE AS fitting,
            min(candidates) FILTER (WHERE candidates > 0)::DOUBLE AS least,
            quantile_disc(candidates, 0.5) FILTER (WHERE candidates > 0)::DOUBLE AS middle,
            coalesce(sum(people) FILTER (WHERE candidates = 1), 0)::DOUBLE AS exact,
            sum(people) FILTER (WHERE candidates = 1 AND NOT is_there)::DOUBLE AS wrong,
            bool_and(is_there IS NOT NULL) AS is_known
        FROM judged
    )
    CROSS JOIN (
        SELECT
            coalesce(sum(people) FILTER (WHERE candidates = 1), 0)::DOUBLE AS raw_exact, coalesce(sum(people) FILTER (WHERE candidates > 0), 0)::DOUBLE AS raw_fitting,
            min(candidates) FILTER (WHERE candidates > 0)::DOUBLE AS raw_least, quantile_disc(candidates, 0.5) FILTER (WHERE candidates > 0)::DOUBLE AS raw_middle
        FROM raw_matches
    )
    CROSS JOIN LATERAL (VALUES
        (0, 'registered', registered, registered, 'People of the register.'),
        {% if sample %}
        (1, 'tried', (SELECT sum(records) FROM drawn)::DOUBLE, (SELECT sum(records) FROM drawn)::DOUBLE, 'Of these, drawn and looked up.'),
        {% endif %}
        (2, 'linked', fitting, raw_fitting, 'Of these, who fit at least one record: their candidates.'),
        (3, 'candidates_least', least, raw_least, 'Least number of candidates of anybody linked.'),
        (4, 'candidates_median', middle, raw_middle, 'Median number of candidates over those linked.'),
        (5, 'exact_matches', exact, raw_exact, 'Who fit one record alone.'),
        (6, 'wrong_matches', CASE WHEN is_known THEN coalesce(wrong, 0) END, NULL::DOUBLE, 'Of these, who are not in the source: it is another person''s record. NULL where nothing names people.')
    ) AS v (place, name, value, raw_baseline, description)
)
