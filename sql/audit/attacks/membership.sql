{#- Membership: how likely each person of a register is in the source, by the classes that the person fits and by the
    number of people of the register who fit them (the presence of Nergiz et al. 2007). -#}
{%- from 'audit/attacks/register.sql' import register_relations with context -%}
{% set columns %}{% for c in others %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}{% endset %}
{{ register_relations(sql('population_cells')) }}
-- One row per class that people of the register fit: the share of them who are in it if all its records are theirs.
class_presences AS MATERIALIZED (
    SELECT p.class_id, sum(p.people)::BIGINT AS people, any_value(k.records)::DOUBLE / sum(p.people) AS presence
    FROM register_candidates AS p
    JOIN classes AS k USING (class_id)
    GROUP BY p.class_id
),
-- One row per combination of values of the register that fits a class: these classes, and the chance that a person with
-- these values is in one of them.
tuple_presences AS MATERIALIZED (
    SELECT
        p.tuple_id, list(p.class_id ORDER BY p.class_id ASC) AS fits, sum(k.records)::BIGINT AS records,
        least(list_sum(list(c.presence ORDER BY c.presence ASC)), 1) AS presence
    FROM register_candidates AS p
    JOIN classes AS k USING (class_id)
    JOIN class_presences AS c USING (class_id)
    GROUP BY p.tuple_id
),
-- One row per combination of values of the register: the chance of presence for an attacker who has the raw data.
raw_presences AS MATERIALIZED (
    SELECT
        {% for c in others %}
        o.{{ c.column }},
        {% endfor %}
        least(coalesce(sum(t.records), 0)::DOUBLE / any_value(o.people), 1) AS presence
    FROM (SELECT {{ columns }}, sum(records) AS people FROM population_cells GROUP BY ALL) AS o
    LEFT JOIN source_cells AS t
        ON {% for c in others %}t.{{ c.column }} IS NOT DISTINCT FROM o.{{ c.column }}{% if not loop.last %}

        AND {% endif %}{% endfor +%}
    GROUP BY {% for c in others %}o.{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}
),
-- One row per person of the register, by the release and by the raw data: the chance that the person is in the source,
-- and whether this is so (NULL if nothing identifies people).
register_matches AS MATERIALIZED (
    {% for relation in ('register_people', 'population_cells') %}
    SELECT
        {{ loop.index0 }} AS attacker, e.identity, e.records AS people,
        {% if loop.first %}l.fits, l.records{% else %}NULL, NULL{% endif %},
        coalesce(l.presence, 0) AS presence,
        {% if register_has_person %}e.identity IN (SELECT identity FROM source_cells
            WHERE identity IS NOT NULL){% else %}NULL::BOOLEAN{% endif %} AS is_in_source
    FROM {{ sql(relation) }} AS e
    {% if loop.first %}
    LEFT JOIN tuple_presences AS l USING (tuple_id)
    UNION ALL
    {% else %}
    JOIN raw_presences AS l
        ON {% for c in others %}l.{{ c.column }} IS NOT DISTINCT FROM e.{{ c.column }}{% if not loop.last %}

        AND {% endif %}{% endfor +%}
    {% endif %}
    {% endfor %}
),
-- One row: the number of people of the register, and the chance of presence without the classes.
register_sizes AS MATERIALIZED (
    SELECT
        sum(records)::DOUBLE AS registered,
        least((SELECT sum(records) FROM classes) / sum(records)::DOUBLE, 1) AS presence
    FROM population_cells
),
-- One row per guess of the result: people who fit the same classes.
guesses AS MATERIALIZED (
    SELECT
        0 AS number, NULL::VARCHAR AS attribute, CASE WHEN len(m.fits) = 1 THEN m.fits[1] END AS class_id,
        coalesce(any_value(m.records), 0)::BIGINT AS records, 'in the source' AS guess, m.presence AS confidence,
        any_value(b.presence) AS baseline_confidence,
        sum(m.people * m.is_in_source::INTEGER)::DOUBLE
            / sum(m.people) FILTER (WHERE m.is_in_source IS NOT NULL) AS actual_accuracy,
        sum(m.people)::BIGINT AS n_tried,
        list(DISTINCT m.identity) FILTER (WHERE m.identity IS NOT NULL) AS identities,
        CASE
            WHEN m.fits IS NULL THEN 'who fit no class'
            WHEN len(m.fits) > 1 THEN 'who fit ' || len(m.fits) || ' classes'
            ELSE 'one of ' || any_value(c.people) || ' of the register who fit ' || any_value(m.records)
                || CASE WHEN any_value(m.records) = 1 THEN ' record' ELSE ' records' END
        END AS note
    FROM register_matches AS m
    CROSS JOIN register_sizes AS b
    LEFT JOIN class_presences AS c ON len(m.fits) = 1 AND c.class_id = m.fits[1]
    WHERE m.attacker = 0 AND round(m.presence, 9) >= {{ threshold }}
    GROUP BY m.fits, m.presence
),
-- One row per attacker: what the attacker learns about the people of the register.
learned AS MATERIALIZED (
    SELECT
        attacker, max(presence) AS most, min(presence) AS least, bool_or(is_in_source IS NOT NULL) AS is_known,
        sum(people) FILTER (WHERE is_in_source IS NOT NULL)::DOUBLE AS judged,
        coalesce(sum(people) FILTER (WHERE is_in_source), 0)::DOUBLE AS members,
        coalesce(sum(people) FILTER (WHERE is_in_source = (round(presence, 9) >= 0.5)), 0)::DOUBLE / judged AS accuracy,
        greatest(members, judged - members) / judged AS majority,
        sum(people * presence) FILTER (WHERE is_in_source) / nullif(members, 0)
            - sum(people * presence) FILTER (WHERE NOT is_in_source) / nullif(judged - members, 0) AS advantage
    FROM register_matches
    GROUP BY attacker
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    SELECT
        v.place, v.name, NULL::VARCHAR AS attribute, v.value, v.majority_baseline, v.raw_baseline, v.description
    FROM learned AS a
    JOIN learned AS r ON a.attacker = 0 AND r.attacker = 1
    CROSS JOIN register_sizes AS b
    CROSS JOIN LATERAL (VALUES
        (0, 'registered', b.registered, NULL::DOUBLE, b.registered, 'People of the register.'),
        (1, 'members', CASE WHEN a.is_known THEN a.members END, NULL::DOUBLE, CASE WHEN r.is_known THEN r.members END,
            'Of these, people who are in the source. NULL if nothing identifies people in both tables.'),
        (2, 'accuracy', a.accuracy, a.majority, r.accuracy,
            'Share of the people for whom it is guessed right whether they are in the source: by the release, by the '
            || 'more frequent answer for all, by the raw data.'),
        (3, 'gain', a.accuracy - a.majority, 0, r.accuracy - r.majority,
            'By how much more people are guessed right than with the same answer for all.'),
        (4, 'advantage', a.advantage, 0, r.advantage,
            'Average chance of presence of the people in the source, minus that of the others: 0 reveals nothing.'),
        (5, 'presence_least', a.least, b.presence, r.least, 'Least chance of presence of a person of the register.'),
        (6, 'presence_greatest', a.most, b.presence, r.most, 'Greatest chance of presence of a person of the register.')
    ) AS v (place, name, value, majority_baseline, raw_baseline, description)
)
