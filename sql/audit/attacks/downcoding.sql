{#- Downcoding, bounded (Cohen 2022): an attacker who knows that intervals are tight and nodes are lowest common
    ancestors knows that each end is the value of a record and that two children are occupied. A column is attacked
    only if this is true of all its classes. Confidence is the posterior of one record if the records of a class were
    drawn independently and uniformly from what is published. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/attacks/tight_intervals.sql' import tight -%}
{% macro hit(c) -%}
    {% if c.is_number -%}
    e.{{ c.column }} IN (g.low, g.high)
    {%- else -%}
    e.{{ c.column }} BETWEEN g.low AND g.high
    {%- endif %}
{%- endmacro %}
-- One row per combination of quasi-identifiers that fits one class alone.
single_candidates AS MATERIALIZED (
    SELECT tuple_id, any_value(class_id) AS class_id FROM candidate_classes GROUP BY tuple_id HAVING count(*) = 1
),
{% for c in attributes %}
{{ tight(c) }}
{% if c.is_number %}
-- One row per class: the guess that a record has an end of the interval. If the interval has very many values, only the
-- records that must have an end count.
{{ 'guesses'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, records, 2 AS n_known, first || ' or ' || last AS guess, baseline_confidence,
        'at least one record has ' || first || ', at least one ' || last AS note,
        CASE
            WHEN baseline_confidence * records < 1e-4 THEN 2.0::DOUBLE / records
            ELSE baseline_confidence * (1 - (1 - baseline_confidence / 2) ^ (records - 1))
                / (1 - 2 * (1 - baseline_confidence / 2) ^ records + (1 - baseline_confidence) ^ records)
        END AS confidence,
        low, high
    FROM (
        SELECT
            *, {% if c.step == 1 %}2 / (high - low + 1){% else %}0.0::DOUBLE{% endif %} AS baseline_confidence,
            {# Both forms: [25, 29] and {'low': 25, 'high': 29}. #}
            regexp_extract(plain_text, '^[^-0-9]*(.*?)''?, ', 1) AS first,
            regexp_extract(plain_text, ', [^-0-9]*(.*?)''?[\])}]$', 1) AS last
        FROM (
            SELECT
                *, {% if c.is_moment %}{{ form.in_days(sql('published')) }}{% else %}published{% endif %} AS plain_text
            FROM {{ 'published parts'|of(c) }}
        )
    )
),
{% elif c.has_hierarchy %}
-- One row per class: the child of its node that gains most confidence as a guess.
{{ 'guesses'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, records, CASE WHEN children = 2 THEN 2 ELSE 0 END AS n_known, label AS guess,
        share AS baseline_confidence,
        CASE
            WHEN children = 2 THEN 'at least one record is in each of two children'
            ELSE 'records are in at least two of ' || children || ' children'
        END AS note,
        confidence, low, high
    FROM (
        SELECT
            k.class_id, k.records, g.*,
            CASE
                WHEN k.records > 1 AND g.share < 1 THEN g.share * (1 - g.share ^ (k.records - 1))
                    / (1 - sum(g.share ^ k.records) OVER (PARTITION BY k.class_id))
                ELSE g.share
            END AS confidence
        FROM classes AS k
        JOIN {{ 'published parts'|of(c) }} AS g ON g.published = k.{{ c.column }}
    )
    QUALIFY row_number() OVER (PARTITION BY class_id ORDER BY confidence - share DESC, low ASC) = 1
),
{% endif %}
{% if c.is_number or c.has_hierarchy %}
-- One row per class with people who fit no other one: how often its guess is right.
{{ 'outcomes'|of(c) }} AS MATERIALIZED (
    SELECT
        g.class_id, sum(e.records)::BIGINT AS people, coalesce(sum(e.records) FILTER (WHERE {{ hit(c) }}), 0) AS hits,
        list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL AND {{ hit(c) }}) AS identities
    FROM {{ 'guesses'|of(c) }} AS g
    JOIN single_candidates AS a USING (class_id)
    JOIN people AS e USING (tuple_id)
    GROUP BY g.class_id
),
{% endif %}
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for c in attributes if c.is_number or c.has_hierarchy %}
    SELECT
        {{ c.i }} AS number, {{ c.label }} AS attribute, g.class_id, g.records::BIGINT AS records, g.guess,
        g.confidence, g.baseline_confidence,
        t.hits / nullif(t.people, 0) AS actual_accuracy, t.people AS n_tried, coalesce(t.identities, []) AS identities,
        g.note
    FROM {{ 'guesses'|of(c) }} AS g
    CROSS JOIN {{ 'tightness'|of(c) }} AS y
    LEFT JOIN {{ 'outcomes'|of(c) }} AS t USING (class_id)
    WHERE y.is_tight AND round(g.confidence - g.baseline_confidence, 9) > 0
        AND round(g.confidence, 9) >= {{ threshold }}
    UNION ALL
    {% endfor %}
    SELECT
        NULL::BIGINT AS number, NULL::VARCHAR AS attribute, NULL::BIGINT AS class_id, NULL::BIGINT AS records,
        NULL::VARCHAR AS guess, NULL::DOUBLE AS confidence,
        NULL::DOUBLE AS baseline_confidence, NULL::DOUBLE AS actual_accuracy, NULL::BIGINT AS n_tried,
        NULL::VARCHAR[] AS identities, NULL::VARCHAR AS note
    WHERE false
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    {% for c in attributes if c.is_number or c.has_hierarchy %}
    SELECT
        v.place + 2 * {{ c.i }} AS place, v.name, {{ c.label }} AS attribute, v.value,
        NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, v.description
    FROM (
        SELECT
            (SELECT is_tight FROM {{ 'tightness'|of(c) }})::INTEGER::DOUBLE AS tight,
            (SELECT coalesce(sum(n_known), 0) FROM {{ 'guesses'|of(c) }})::DOUBLE AS n_known
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'tight', tight,
            '1: every published interval ends at values of records, and every node has two occupied children; '
            || '0: this is not so, and nothing is inferred.'),
        (2, 'known', tight * n_known,
            'Records that are certainly at an end of an interval or in a child of a node, one per end or child; '
            || 'whose they are is unknown.')
    ) AS v (place, name, value, description)
    UNION ALL
    {% endfor %}
    SELECT
        NULL::BIGINT AS place, NULL::VARCHAR AS name, NULL::VARCHAR AS attribute, NULL::DOUBLE AS value,
        NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline,
        NULL::VARCHAR AS description
    WHERE false
)
