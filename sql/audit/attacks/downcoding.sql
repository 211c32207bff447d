{#- Downcoding, bounded (Cohen 2022): whoever knows that intervals are tight and nodes are lowest common ancestors knows that
    somebody has each end, and that two children are occupied. A column is attacked only if that is so of all its classes.
    Confidence is the posterior of one record where the records of a class were drawn alike from what is published. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'audit/attacks/tight_intervals.sql' import tight -%}
{% macro hit(c) -%}
    {% if c.is_number %}e.v{{ c.i }} IN (g.low, g.high){% else %}e.v{{ c.i }} BETWEEN g.low AND g.high{% endif %}
{%- endmacro %}
-- A row a combination of quasi-identifiers that fits one class alone.
alone AS MATERIALIZED (SELECT tid, any_value(class_id) AS class_id FROM pairs GROUP BY tid HAVING count(*) = 1),
{% for c in attributes %}
{{ tight(c) }}
{% if c.is_number %}
-- A row a class and a guess about its people. d values of which each record has one; where they are very many, an end
-- is nobody's but those who must have it.
{{ 'guess'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, records, 2 AS known, first || ' or ' || last AS guess, baseline_confidence, 'at least one record has ' || first || ', at least one ' || last AS note,
        CASE
            WHEN baseline_confidence * records < 1e-4 THEN 2.0::DOUBLE / records
            ELSE baseline_confidence * (1 - (1 - baseline_confidence / 2) ^ (records - 1)) / (1 - 2 * (1 - baseline_confidence / 2) ^ records + (1 - baseline_confidence) ^ records)
        END AS confidence,
        low, high
    FROM (
        SELECT
            *, {% if c.step == 1 %}2 / (high - low + 1){% else %}0.0::DOUBLE{% endif %} AS baseline_confidence,
            {# Both forms: [25, 29] and {'low': 25, 'high': 29}. #}
            regexp_extract(said, '^[^-0-9]*(.*?)''?, ', 1) AS first, regexp_extract(said, ', [^-0-9]*(.*?)''?[\])}]$', 1) AS last
        FROM (SELECT *, {% if c.is_moment %}{{ form.in_days(sql('published')) }}{% else %}published{% endif %} AS said FROM {{ 'part'|of(c) }})
    )
),
{% elif c.rows %}
-- A row a class and a guess about its people.
{{ 'guess'|of(c) }} AS MATERIALIZED (
    SELECT
        class_id, records, CASE WHEN children = 2 THEN 2 ELSE 0 END AS known, label AS guess, share AS baseline_confidence,
        CASE WHEN children = 2 THEN 'at least one record is in each of two children' ELSE 'records are in at least two of ' || children || ' children' END AS note,
        confidence, low, high
    FROM (
        SELECT
            k.class_id, k.records, g.*,
            CASE WHEN k.records > 1 AND g.share < 1 THEN g.share * (1 - g.share ^ (k.records - 1)) / (1 - sum(g.share ^ k.records) OVER (PARTITION BY k.class_id)) ELSE g.share END AS confidence
        FROM classes AS k
        JOIN {{ 'part'|of(c) }} AS g ON g.published = k.q{{ c.i }}
    )
    QUALIFY row_number() OVER (PARTITION BY class_id ORDER BY confidence - share DESC, low ASC) = 1
),
{% endif %}
{% if c.is_number or c.rows %}
-- A row a class and a guess: how often it is right.
{{ 'truth'|of(c) }} AS MATERIALIZED (
    SELECT
        g.class_id, sum(e.records)::BIGINT AS people, coalesce(sum(e.records) FILTER (WHERE {{ hit(c) }}), 0) AS hits,
        list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL AND {{ hit(c) }}) AS who
    FROM {{ 'guess'|of(c) }} AS g
    JOIN alone AS a USING (class_id)
    JOIN people AS e USING (tid)
    GROUP BY g.class_id
),
{% endif %}
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for c in attributes if c.is_number or c.rows %}
    SELECT
        {{ c.i }} AS number, {{ c.label }} AS attribute, g.class_id, g.records::BIGINT AS records, g.guess, g.confidence, g.baseline_confidence,
        t.hits / nullif(t.people, 0) AS actual_accuracy, t.people AS tried, coalesce(t.who, []) AS who, g.note
    FROM {{ 'guess'|of(c) }} AS g
    CROSS JOIN {{ 'tight'|of(c) }} AS y
    LEFT JOIN {{ 'truth'|of(c) }} AS t USING (class_id)
    WHERE y.is_tight AND round(g.confidence - g.baseline_confidence, 9) > 0 AND round(g.confidence, 9) >= {{ threshold }}
    UNION ALL
    {% endfor %}
    SELECT
        NULL::BIGINT AS number, NULL::VARCHAR AS attribute, NULL::BIGINT AS class_id, NULL::BIGINT AS records, NULL::VARCHAR AS guess, NULL::DOUBLE AS confidence,
        NULL::DOUBLE AS baseline_confidence, NULL::DOUBLE AS actual_accuracy, NULL::BIGINT AS tried, NULL::VARCHAR[] AS who, NULL::VARCHAR AS note
    WHERE false
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    {% for c in attributes if c.is_number or c.rows %}
    SELECT v.place + 2 * {{ c.i }} AS place, v.name, {{ c.label }} AS attribute, v.value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, v.description
    FROM (SELECT (SELECT is_tight FROM {{ 'tight'|of(c) }})::INTEGER::DOUBLE AS tight, (SELECT coalesce(sum(known), 0) FROM {{ 'guess'|of(c) }})::DOUBLE AS known)
    CROSS JOIN LATERAL (VALUES
        (1, 'tight', tight, '1: every published interval has its ends from records, every node has two occupied children; else nothing is inferred.'),
        (2, 'known', tight * known, 'Records of which such a reader knows the end, or the child, of one each: certain, though not whose they are.')
    ) AS v (place, name, value, description)
    UNION ALL
    {% endfor %}
    SELECT
        NULL::BIGINT AS place, NULL::VARCHAR AS name, NULL::VARCHAR AS attribute, NULL::DOUBLE AS value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline,
        NULL::VARCHAR AS description
    WHERE false
)
