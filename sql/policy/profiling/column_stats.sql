{#- What is counted of each column: value_i (a row a value), spread_i (numbers), looks_i (texts), fact (a row a column). -#}
{% for c in columns %}
-- A row a value of a column: how many records have it.
value_{{ c.i }} AS MATERIALIZED (SELECT c{{ c.i }} AS value, count(*) AS records FROM source GROUP BY c{{ c.i }}),
{% if c.number %}
-- One row: the fences of a column of numbers. Fences as John Tukey's far out ones: 3 times the middle half beyond it.
-- Where half of the values are equal, the middle 90 % or 98 % are taken; where even these are, every other value is
-- outside.
spread_{{ c.i }} AS MATERIALIZED (
    SELECT
        CASE WHEN q[4] > q[3] THEN 50 WHEN q[5] > q[2] THEN 90 WHEN q[6] > q[1] THEN 98 ELSE 0 END AS middle,
        CASE middle WHEN 50 THEN q[3] WHEN 90 THEN q[2] ELSE q[1] END AS low,
        CASE middle WHEN 50 THEN q[4] WHEN 90 THEN q[5] ELSE q[6] END AS high
    FROM (
        SELECT quantile_disc(number, [0.01, 0.05, 0.25, 0.75, 0.95, 0.99]) AS q
        FROM (SELECT {{ c.number }} AS number FROM (SELECT c{{ c.i }} AS value FROM source))
        WHERE number IS NOT NULL
    )
),
-- One row: how many values are outside of these.
outside_{{ c.i }} AS MATERIALIZED (
    SELECT
        any_value(middle) AS middle,
        coalesce(sum(records) FILTER (WHERE number IS NULL), 0)::BIGINT AS wild,
        coalesce(sum(records) FILTER (
            WHERE number IS NULL OR number < low - 3 * (high - low) OR number > high + 3 * (high - low)
        ), 0)::BIGINT AS records
    FROM (SELECT {{ c.number }} AS number, records FROM value_{{ c.i }} WHERE value IS NOT NULL), spread_{{ c.i }}
),
{% endif %}
{% endfor %}
-- A row a text of a column: Texts beside the forms that values can have; all columns at once, as preparing a pattern
-- costs more than comparing it.
sampled AS MATERIALIZED (
    {% for c in columns if c.is_text %}
    (
        SELECT {{ c.i }} AS place, value
        FROM value_{{ c.i }}
        WHERE value IS NOT NULL AND {{ mend.trimmed }} NOT IN ({{ mend.codes }})
        ORDER BY hash(value) ASC, value ASC
        LIMIT {% if c.may_be_unchanged %}{{ limits.MAX_UNCHANGED_SAMPLE_VALUES }}{% else %}{{ limits.MAX_SAMPLE_VALUES }}{% endif %}
    )
    {% if not loop.last %}UNION ALL{% endif %}
    {% else %}
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS value WHERE false
    {% endfor %}
),
-- A row a column: what its texts look like.
looks AS MATERIALIZED (
    SELECT
        place,
        count(*)::DOUBLE AS looked,
        {% for p in patterns %}
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ p.pattern }})) AS pattern_{{ loop.index0 }},
        {% endfor %}
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ diagnosis }})) / looked AS diagnoses,
        count(*) FILTER (WHERE isfinite(TRY_CAST(value AS DOUBLE))) / looked AS numbers,
        count(*) FILTER (WHERE TRY_CAST(value AS TIMESTAMP) IS NOT NULL OR regexp_full_match(trim(value), {{ shapes.DATE }})) / looked AS dates,
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ shapes.SURNAME_FIRST }}) OR regexp_full_match(trim(value), {{ shapes.TITLED }})) / looked AS names,
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ shapes.GIVEN_FIRST }})) / looked AS capitalised,
        count(*) FILTER (WHERE regexp_matches(value, {{ shapes.CONTACT }}) AND regexp_matches(value, '\pL')) AS contacts,
        count(*) FILTER (WHERE regexp_matches(value, {{ shapes.SENTENCE }})) / looked AS sentences,
        avg(length(value)) >= {{ limits.MIN_PROSE_LENGTH }} AND 2 * count(*) FILTER (WHERE contains(trim(value), ' ')) >= looked AS is_wordy
    FROM sampled
    GROUP BY place
),
-- A row a hierarchy and a leaf of it.
leaf AS MATERIALIZED (
    SELECT DISTINCT name, label COLLATE POSIX AS label
    FROM ({% for l in leaves %}({{ l }}){% if not loop.last %} UNION ALL {% endif %}{% endfor %})
),
-- A row a column and a hierarchy of a like name.
affinity AS MATERIALIZED ({{ affinities }}),
-- A row a column and a hierarchy: how many of its values are leaves.
covered AS (
    SELECT n.place, n.name, n.covered, coalesce(a.affinity, 0) AS affinity, t.leaves
    FROM (
        {% for c in columns if c.is_text %}
        SELECT {{ c.i }} AS place, l.name, count(*) AS covered
        FROM leaf AS l JOIN value_{{ c.i }} AS v ON v.value = l.label
        GROUP BY l.name
        {% if not loop.last %}UNION ALL{% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, NULL::VARCHAR AS name, 0 AS covered WHERE false
        {% endfor %}
    ) AS n
    JOIN (SELECT name, count(*) AS leaves FROM leaf GROUP BY name) AS t USING (name)
    LEFT JOIN affinity AS a ON a.place = n.place AND a.name = n.name
),
-- A row a column: The hierarchy that covers most; of equals the one that is named like the column, then the smallest.
hierarchy AS MATERIALIZED (
    SELECT place, name, covered, affinity
    FROM covered
    QUALIFY row_number() OVER (
        PARTITION BY place ORDER BY covered DESC, affinity DESC, leaves ASC, name ASC
    ) = 1
),
{% include 'policy/profiling/missing_codes.sql' %},
-- A row a column: all that was counted.
fact AS MATERIALIZED (
    SELECT
        f.*, coalesce(d.spelled, 0) AS spelled, coalesce(d.coded, 0) AS coded, d.codes,
        k.diagnoses, k.numbers, coalesce(k.dates, CASE WHEN f.is_time THEN 1 ELSE 0 END) AS dates,
        coalesce(k.names, 0) AS names, coalesce(k.capitalised, 0) AS capitalised,
        coalesce(k.contacts, 0) AS contacts, coalesce(k.contacts / k.looked, 0) AS contact_share,
        coalesce(k.sentences, 0) AS sentences, coalesce(k.is_wordy, false) AS is_wordy,
        CASE {% for p in patterns %}WHEN k.pattern_{{ loop.index0 }} >= {{ limits.NEARLY_ALL_SHARE }} * k.looked THEN {{ p.what }}
        {% endfor %}END AS form
    FROM (
    {% for c in columns %}
    SELECT
        {{ c.i }} AS place, {{ c.name }} AS column_name, {{ c.literal }} AS literal, {{ c.type }} AS type,
        {{ c.is_text }} AS is_text, {{ c.is_whole }} AS is_whole, {{ c.is_keylike }} AS is_keylike,
        {{ c.generalizes }} AS generalizes, {{ c.tells_persons }} AS tells_persons,
        {% for hint, word in c.hints.items() %}{{ word }}::VARCHAR AS named_{{ sql(hint) }}, {% endfor %}
        v.*,
        {% if c.number %}o.middle, o.wild, o.records AS outside,{% else %}NULL::INTEGER AS middle, 0 AS wild, NULL::BIGINT AS outside,{% endif %}
        {{ c.is_time }} AS is_time, {{ c.is_clock }} AS is_clock, {{ c.is_position }} AS is_position
    FROM (
        SELECT
            coalesce(sum(records), 0)::BIGINT AS records,
            count(*) AS groups,
            count(value) AS distinct_values,
            coalesce(sum(records) FILTER (WHERE value IS NULL), 0)::BIGINT AS missing,
            count(*) FILTER (WHERE records = 1) AS uniques,
            coalesce(sum(records) FILTER (WHERE records < {{ limits.RARE_RECORDS }}), 0)::BIGINT AS rare,
            sum(records::DOUBLE * (records - 1)) AS alike,
            {% if c.is_measured %}max(length(CAST(value AS VARCHAR))){% else %}NULL::BIGINT{% endif %} AS longest,
            {% if c.is_position %}
            bool_and(abs({{ c.number }}) <= 180) AS is_in_degrees,
            bool_and(abs({{ c.number }} * {{ limits.MAX_DEGREE_PARTS }} - round({{ c.number }} * {{ limits.MAX_DEGREE_PARTS }})) < 1e-6) AS is_coarse,
            bool_and({{ c.number }} = round({{ c.number }})) AS is_integral
            {% else %}
            false AS is_in_degrees, false AS is_coarse, false AS is_integral
            {% endif %}
        FROM value_{{ c.i }}
    ) AS v{% if c.number %}, outside_{{ c.i }} AS o{% endif %}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
    ) AS f
    LEFT JOIN looks AS k USING (place)
    LEFT JOIN (
        SELECT place, sum(spelled)::BIGINT AS spelled, sum(records)::BIGINT AS coded, list(code ORDER BY records DESC, code ASC) AS codes
        FROM coded GROUP BY place
    ) AS d USING (place)
)