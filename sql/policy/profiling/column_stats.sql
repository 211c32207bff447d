{#- Counts of each column: "age: values" (one row per value), "age: fences" and "age: outliers" (columns of numbers),
    text_features (one row per column of texts), column_facts (one row per column). -#}
-- One row per column: its name, and what its type allows.
column_properties AS MATERIALIZED (
    SELECT *
    FROM (
        VALUES
        {% for c in columns %}
        (
            {{ c.i }}, {{ c.name }}, {{ c.literal }}, {{ c.type }},
            {{ c.is_text }}, {{ c.is_whole }}, {{ c.is_keylike }}, {{ c.generalizes }}, {{ c.tells_persons }},
            {{ c.is_time }}, {{ c.is_clock }}, {{ c.is_position }}, {{ c.is_coded }}
        ){{ sql(',') if not loop.last }}
        {% endfor %}
    ) AS properties (
        place, column_name, literal, type,
        is_text, is_whole, is_keylike, can_be_generalized, can_identify_persons, is_time, is_clock, is_position, \
        is_coded
    )
),
-- One row per known word in the name of a column: the column, the meaning of such words, and the word.
name_words AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS meaning, NULL::VARCHAR AS word WHERE false
    {% for c in columns if c.hints %}
    {% if loop.first %}
    UNION ALL
    VALUES
    {% endif %}
    {% set is_last_column = loop.last %}
    {% for hint, word in c.hints.items() %}
        ({{ c.i }}, '{{ sql(hint) }}', {{ word }}){{ sql(',') if not (loop.last and is_last_column) }}
    {% endfor %}
    {% endfor %}
),
-- One row per number that can mean a missing value.
number_codes AS MATERIALIZED (
    SELECT number, code
    FROM ({{ mend.numbers }}) AS codes (number, code)
),
-- One row per number of a pattern of codes, such as 77, 88 and 99: the pattern, the number and its text.
pattern_codes AS MATERIALIZED (
    SELECT pattern, number, code
    FROM ({{ mend.patterns }}) AS codes (pattern, number, code)
),
-- One row per date, in seconds, that can mean a missing value.
date_codes AS MATERIALIZED (
    SELECT number, code
    FROM ({{ mend.dates }}) AS codes (number, code)
),
-- One row per number or date, in seconds, that can mean a missing value: whether it can do so without others.
known_codes AS MATERIALIZED (
    SELECT 'number' AS code_type, number, bool_or(is_listed) AS is_listed
    FROM (
        SELECT number, true AS is_listed FROM number_codes
        UNION ALL
        SELECT number, false FROM pattern_codes
    )
    GROUP BY number
    UNION ALL
    SELECT 'date', number, true FROM date_codes
),
{% for c in columns %}
-- One row per value of a column: how many records have it.
{{ 'values'|of(c) }} AS MATERIALIZED (
    SELECT {{ c.column }} AS value, count(*) AS records FROM source GROUP BY {{ c.column }}
),
{% if c.number %}
-- One row: a range of the values of a column of numbers, from which its outliers are far away. They are those that
-- John Tukey called far out: beyond the middle half of the values by more than 3 times its width. Where half of the
-- values are equal, it is the middle 90 % or 98 %; where even these are equal, every other value is an outlier.
{{ 'fences'|of(c) }} AS MATERIALIZED (
    SELECT
        CASE WHEN q[4] > q[3] THEN 50 WHEN q[5] > q[2] THEN 90 WHEN q[6] > q[1] THEN 98 ELSE 0 END AS middle_percent,
        CASE middle_percent WHEN 50 THEN q[3] WHEN 90 THEN q[2] ELSE q[1] END AS low,
        CASE middle_percent WHEN 50 THEN q[4] WHEN 90 THEN q[5] ELSE q[6] END AS high
    FROM (
        SELECT quantile_disc(number, [0.01, 0.05, 0.25, 0.75, 0.95, 0.99]) AS q
        FROM (SELECT {{ c.number }} AS number FROM (SELECT {{ c.column }} AS value FROM source))
        WHERE number IS NOT NULL
    )
),
-- One row: how many records have outliers, and how many have values that are not finite; facts about the values without
-- codes for missing values, "plain" ones without numbers that can be codes together with others; and such codes.
{{ 'outliers'|of(c) }} AS MATERIALIZED (
    SELECT
        any_value(middle_percent) AS middle_percent,
        coalesce(sum(records) FILTER (WHERE number IS NULL), 0)::BIGINT AS n_not_finite,
        coalesce(sum(records) FILTER (
            WHERE number IS NULL OR number < low - 3 * (high - low) OR number > high + 3 * (high - low)
        ), 0)::BIGINT AS n_outliers
        {% if c.coded_as %}
        , count(number) FILTER (WHERE is_listed IS NOT TRUE) AS n_numbers,
        min(number) FILTER (WHERE is_listed IS NOT TRUE) AS least_number,
        max(number) FILTER (WHERE is_listed IS NOT TRUE) AS greatest_number,
        count(number) FILTER (WHERE is_listed IS NULL AND number >= 0) AS n_plain,
        min(number) FILTER (WHERE is_listed IS NULL AND number >= 0) AS least_plain,
        max(number) FILTER (WHERE is_listed IS NULL) AS greatest_plain,
        list({'number': number, 'is_listed': is_listed, 'records': records}) FILTER (
            WHERE is_listed IS NOT NULL
        ) AS code_counts,
        sum(number * records) AS total,
        max(number) AS maximum,
        max_by(records, number) AS n_maximum
        {% endif %}
    FROM (
        SELECT {{ c.number }} AS number, records
        FROM {{ 'values'|of(c) }}
        WHERE value IS NOT NULL
    )
    {% if c.coded_as %}
    LEFT JOIN (SELECT number, is_listed FROM known_codes WHERE code_type = '{{ sql(c.coded_as) }}') USING (number)
    {% endif %}
    , {{ 'fences'|of(c) }}
),
{% endif %}
{% endfor %}
-- One row per column of numbers or dates: these facts.
number_facts AS MATERIALIZED (
    {% for c in columns if c.coded_as %}
    SELECT
        {{ c.i }} AS place, '{{ sql(c.coded_as) }}' AS code_type, {{ c.is_position }} AS is_position,
        * EXCLUDE (middle_percent, n_not_finite, n_outliers)
    FROM {{ 'outliers'|of(c) }}
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% else %}
    SELECT
        NULL::INTEGER AS place, NULL::VARCHAR AS code_type, false AS is_position, 0 AS n_numbers,
        NULL::DOUBLE AS least_number, NULL::DOUBLE AS greatest_number, 0 AS n_plain, NULL::DOUBLE AS least_plain,
        NULL::DOUBLE AS greatest_plain, NULL::STRUCT(number DOUBLE, is_listed BOOLEAN, records BIGINT)[] AS code_counts,
        NULL::DOUBLE AS total, NULL::DOUBLE AS maximum, 0 AS n_maximum
    WHERE false
    {% endfor %}
),
-- One row per text that means a missing value.
text_codes AS MATERIALIZED (SELECT code COLLATE POSIX AS code FROM ({{ mend.codes }})),
-- One row per text in a sample of the values of each column. It has all columns, because preparing a pattern costs more
-- than comparing it.
sampled_texts AS MATERIALIZED (
    {% for c in columns if c.is_text %}
    (
        SELECT {{ c.i }} AS place, value
        FROM {{ 'values'|of(c) }}
        WHERE value IS NOT NULL
            AND {{ mend.trimmed }} NOT IN (FROM text_codes)
        ORDER BY hash(value) ASC, value ASC
        {% if c.may_be_unchanged %}
        LIMIT {{ limits.MAX_UNCHANGED_SAMPLE_VALUES }}
        {% else %}
        LIMIT {{ limits.MAX_SAMPLE_VALUES }}
        {% endif %}
    )
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% else %}
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS value WHERE false
    {% endfor %}
),
-- One row per column of texts: the shares of the sampled texts, or their number, that have the form of something.
text_features AS MATERIALIZED (
    SELECT
        place,
        count(*)::DOUBLE AS n_texts,
        {% for p in patterns %}
        count(*) FILTER (
            WHERE regexp_full_match(trim(value), {{ p.pattern }})
        ) AS {{ p.column }},
        {% endfor %}
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ diagnosis }})) / n_texts AS diagnoses,
        count(*) FILTER (WHERE isfinite(TRY_CAST(value AS DOUBLE))) / n_texts AS numbers,
        count(*) FILTER (
            WHERE TRY_CAST(value AS TIMESTAMP) IS NOT NULL
                OR regexp_full_match(trim(value), {{ shapes.DATE }})
        ) / n_texts AS dates,
        count(*) FILTER (
            WHERE regexp_full_match(trim(value), {{ shapes.SURNAME_FIRST }})
                OR regexp_full_match(trim(value), {{ shapes.TITLED }})
        ) / n_texts AS names,
        count(*) FILTER (WHERE regexp_full_match(trim(value), {{ shapes.GIVEN_FIRST }})) / n_texts AS capitalised,
        count(*) FILTER (
            WHERE regexp_matches(value, {{ shapes.CONTACT }})
                AND regexp_matches(value, '\pL')
        ) AS contacts,
        count(*) FILTER (WHERE regexp_matches(value, {{ shapes.SENTENCE }})) / n_texts AS sentences,
        avg(length(value)) >= {{ limits.MIN_PROSE_LENGTH }}
            AND 2 * count(*) FILTER (WHERE contains(trim(value), ' ')) >= n_texts AS is_wordy
    FROM sampled_texts
    GROUP BY place
),
-- One row per leaf of a hierarchy that the policy could name: the hierarchy's name and the label.
hierarchy_leaves AS MATERIALIZED (
    SELECT DISTINCT name, label COLLATE POSIX AS label
    FROM (
        {% for l in leaves %}
        ({{ l }})
        {% if not loop.last %}
        UNION ALL
        {% endif %}
        {% endfor %}
    )
),
-- One row per column and hierarchy whose names share words: how many.
shared_name_words AS MATERIALIZED ({{ affinities }}),
-- One row per column and hierarchy that has some of its values as leaves: how many.
hierarchy_matches AS (
    SELECT m.place, m.name, m.n_covered, coalesce(w.n_words, 0) AS n_shared_words, l.n_leaves
    FROM (
        {% for c in columns if c.is_text %}
        SELECT {{ c.i }} AS place, l.name, count(*) AS n_covered
        FROM hierarchy_leaves AS l JOIN {{ 'values'|of(c) }} AS v ON v.value = l.label
        GROUP BY l.name
        {% if not loop.last %}
        UNION ALL
        {% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, NULL::VARCHAR AS name, 0 AS n_covered WHERE false
        {% endfor %}
    ) AS m
    JOIN (SELECT name, count(*) AS n_leaves FROM hierarchy_leaves GROUP BY name) AS l USING (name)
    LEFT JOIN shared_name_words AS w ON w.place = m.place AND w.name = m.name
),
-- One row per column: the hierarchy that covers most of its values; of several, one that is named like the column, then
-- the smallest.
best_hierarchies AS MATERIALIZED (
    SELECT place, name, n_covered, n_shared_words
    FROM hierarchy_matches
    QUALIFY row_number() OVER (
        PARTITION BY place ORDER BY n_covered DESC, n_shared_words DESC, n_leaves ASC, name ASC
    ) = 1
),
{% include 'policy/profiling/missing_codes.sql' %},
-- One row per column: counts of its values and records.
column_counts AS MATERIALIZED (
    {% for c in columns %}
    SELECT
        {{ c.i }} AS place,
        coalesce(sum(records), 0)::BIGINT AS records,
        count(*) AS n_groups,
        count(value) AS distinct_values,
        coalesce(sum(records) FILTER (WHERE value IS NULL), 0)::BIGINT AS missing,
        count(*) FILTER (WHERE records = 1) AS n_uniques,
        coalesce(sum(records) FILTER (WHERE records < {{ limits.RARE_RECORDS }}), 0)::BIGINT AS n_rare,
        sum(records::DOUBLE * (records - 1)) AS n_equal_pairs,
        {% if c.is_measured %}
        max(length(CAST(value AS VARCHAR))) AS max_length,
        {% else %}
        NULL::BIGINT AS max_length,
        {% endif %}
        {% if c.is_position %}
        bool_and(abs({{ c.number }}) <= 180) AS is_in_degrees,
        bool_and(abs(
            {{ c.number }} * {{ limits.MAX_DEGREE_PARTS }}
            - round({{ c.number }} * {{ limits.MAX_DEGREE_PARTS }})
        ) < 1e-6) AS is_coarse,
        bool_and({{ c.number }} = round({{ c.number }})) AS is_integral,
        {% else %}
        false AS is_in_degrees, false AS is_coarse, false AS is_integral,
        {% endif %}
        {% if c.number %}
        coalesce(bool_and({{ c.number }} IN (0, 1)), false) AS is_zero_or_one,
        {% if c.may_be_integers %}
        coalesce(
            bool_and({{ c.number }} = trunc({{ c.number }}) AND abs({{ c.number }}) < {{ limits.MAX_EXACT_INTEGER }}),
            false
        ) AS has_integers,
        {% else %}
        false AS has_integers,
        {% endif %}
        (
            SELECT {'middle_percent': middle_percent, 'n_not_finite': n_not_finite, 'n_outliers': n_outliers}
            FROM {{ 'outliers'|of(c) }}
        ) AS spread
        {% else %}
        false AS is_zero_or_one, false AS has_integers,
        {'middle_percent': NULL::INTEGER, 'n_not_finite': 0::BIGINT, 'n_outliers': NULL::BIGINT} AS spread
        {% endif %}
    FROM {{ 'values'|of(c) }}
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% endfor %}
),
-- One row per column: all that was counted.
column_facts AS MATERIALIZED (
    SELECT
        p.*, h.* EXCLUDE (place), c.* EXCLUDE (place, spread),
        (c.spread).middle_percent AS middle_percent, (c.spread).n_not_finite AS n_not_finite,
        (c.spread).n_outliers AS n_outliers,
        coalesce(m.n_code_values, 0) AS n_code_values, coalesce(m.n_coded, 0) AS n_coded, m.codes,
        t.diagnoses, t.numbers, coalesce(t.dates, CASE WHEN p.is_time THEN 1 ELSE 0 END) AS dates,
        coalesce(t.names, 0) AS names, coalesce(t.capitalised, 0) AS capitalised,
        coalesce(t.contacts, 0) AS contacts, coalesce(t.contacts / t.n_texts, 0) AS contact_share,
        coalesce(t.sentences, 0) AS sentences, coalesce(t.is_wordy, false) AS is_wordy,
        CASE
            {% for p in patterns %}
            WHEN t.{{ p.column }} >= {{ limits.NEARLY_ALL_SHARE }} * t.n_texts THEN {{ p.what }}
            {% endfor %}
        END AS form
    FROM column_properties AS p
    JOIN column_counts AS c USING (place)
    JOIN (
        SELECT
            p.place
            {% for hint in hints %}
            , any_value(w.word) FILTER (WHERE w.meaning = '{{ sql(hint) }}') AS {{ sql('named_', hint) }}
            {% endfor %}
        FROM column_properties AS p
        LEFT JOIN name_words AS w USING (place)
        GROUP BY p.place
    ) AS h USING (place)
    LEFT JOIN text_features AS t USING (place)
    LEFT JOIN (
        SELECT
            place, sum(n_values)::BIGINT AS n_code_values, sum(records)::BIGINT AS n_coded,
            list(code ORDER BY records DESC, code ASC) AS codes
        FROM missing_code_counts
        GROUP BY place
    ) AS m USING (place)
)
