{#- Linkage: which people of a register fit how many records of the release, and how many of the register fit these. -#}
{%- from 'audit/attacks/register.sql' import register_relations with context -%}
{%- from 'audit/attacks/sample.sql' import sample_of with context -%}
{% set trial_cells = sql('sampled_cells' if sample else 'population_cells') %}
{% set columns %}{% for c in others %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}{% endset %}
{% if sample %}
{{ sample_of(sql('population_cells'), others, []) }}
{% endif %}
{{ register_relations(trial_cells) }}
-- One row per combination: the number of records that may be its people's, and of people of the register who fit these,
-- unless most of those were not drawn.
register_links AS MATERIALIZED (
    SELECT
        p.tuple_id, sum(k.records)::BIGINT AS candidates,
        {% if sample %}NULL::BIGINT{% else %}min(r.people)::BIGINT{% endif %} AS rivals,
        CASE WHEN count(*) = 1 THEN any_value(p.class_id) END AS class_id
    FROM register_candidates AS p
    JOIN classes AS k USING (class_id)
    JOIN (SELECT class_id, sum(people) AS people FROM register_candidates GROUP BY class_id) AS r USING (class_id)
    GROUP BY p.tuple_id
),
-- One row per person of the register: the chance to find the person's record.
register_matches AS MATERIALIZED (
    SELECT
        e.identity, e.records AS people, l.class_id, coalesce(l.candidates, 0) AS candidates, l.rivals,
        1.0::DOUBLE / greatest(l.candidates, l.rivals) AS confidence,
        {% if register_has_person %}e.identity IN (SELECT identity FROM people
            WHERE identity IS NOT NULL){% else %}NULL::BOOLEAN{% endif %} AS is_in_source
    FROM register_people AS e
    LEFT JOIN register_links AS l USING (tuple_id)
),
-- One row per guess of the result.
guesses AS MATERIALIZED (
    SELECT
        0 AS number, NULL::VARCHAR AS attribute, class_id, candidates::BIGINT AS records, NULL::VARCHAR AS guess,
        confidence,
        1.0::DOUBLE / (SELECT sum(records) FROM classes) AS baseline_confidence,
        CASE WHEN is_in_source THEN 1.0 / candidates WHEN NOT is_in_source THEN 0 END::DOUBLE AS actual_accuracy,
        people AS n_tried, [identity] AS identities,
        'fits ' || candidates || CASE WHEN candidates = 1 THEN ' record' ELSE ' records' END
            {%- if not sample %} || ', which ' || CASE WHEN candidates = 1 THEN 'fits ' ELSE 'fit ' END || rivals
            || ' of the register or more'{% endif %} AS note
    FROM register_matches
    WHERE candidates > 0 AND round(confidence, 9) >= {{ threshold }}
),
-- One row per combination of the register: the number of records of the source that have exactly these values.
raw_matches AS MATERIALIZED (
    SELECT any_value(o.people) AS people, coalesce(sum(t.records), 0) AS candidates
    FROM (SELECT {{ columns }}, sum(records) AS people FROM {{ trial_cells }} GROUP BY ALL) AS o
    LEFT JOIN source_cells AS t
        ON {% for c in others %}t.{{ c.column }} IS NOT DISTINCT FROM o.{{ c.column }}{% if not loop.last %}

        AND {% endif %}{% endfor +%}
    GROUP BY {% for c in others %}o.{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    SELECT
        v.place, v.name, NULL::VARCHAR AS attribute, v.value, NULL::DOUBLE AS majority_baseline, v.raw_baseline,
        v.description
    FROM (
        SELECT
            (SELECT sum(records) FROM population_cells)::DOUBLE AS registered,
            coalesce(sum(people) FILTER (WHERE candidates > 0), 0)::DOUBLE AS fitting,
            min(candidates) FILTER (WHERE candidates > 0)::DOUBLE AS min_candidates,
            quantile_disc(candidates, 0.5) FILTER (WHERE candidates > 0)::DOUBLE AS median_candidates,
            coalesce(sum(people) FILTER (WHERE candidates = 1), 0)::DOUBLE AS exact,
            sum(people) FILTER (WHERE candidates = 1 AND NOT is_in_source)::DOUBLE AS wrong,
            bool_and(is_in_source IS NOT NULL) AS is_known
        FROM register_matches
    )
    CROSS JOIN (
        SELECT
            coalesce(sum(people) FILTER (WHERE candidates = 1), 0)::DOUBLE AS raw_exact,
            coalesce(sum(people) FILTER (WHERE candidates > 0), 0)::DOUBLE AS raw_fitting,
            min(candidates) FILTER (WHERE candidates > 0)::DOUBLE AS raw_min_candidates,
            quantile_disc(candidates, 0.5) FILTER (WHERE candidates > 0)::DOUBLE AS raw_median_candidates
        FROM raw_matches
    )
    CROSS JOIN LATERAL (VALUES
        (0, 'registered', registered, registered, 'People of the register.'),
        {% if sample %}
        (1, 'tried', (SELECT sum(records) FROM sampled_cells)::DOUBLE, (SELECT sum(records) FROM sampled_cells)::DOUBLE,
            'Of these, drawn and looked up.'),
        {% endif %}
        (2, 'linked', fitting, raw_fitting,
            'Of these, people who fit at least one record: these are their candidates.'),
        (3, 'candidates_least', min_candidates, raw_min_candidates, 'Least number of candidates of a linked person.'),
        (4, 'candidates_median', median_candidates, raw_median_candidates,
            'Median number of candidates of the linked people.'),
        (5, 'exact_matches', exact, raw_exact, 'People who fit exactly one record.'),
        (6, 'wrong_matches', CASE WHEN is_known THEN coalesce(wrong, 0) END, NULL::DOUBLE,
            'Of these, people who are not in the source, so that the record is another person''s. '
            || 'NULL if no column identifies people.')
    ) AS v (place, name, value, raw_baseline, description)
)
