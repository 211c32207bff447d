{#- What is wrong with the cells: codes for missing values, and texts that are dates or numbers. -#}
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
-- One row per column of numbers and number in it that can mean a missing value: how many records have it.
number_code_counts AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, NULL::DOUBLE AS number, 0::BIGINT AS records WHERE false
    {% for c in columns if c.coded_as == 'number' %}
    UNION ALL
    SELECT {{ c.i }}, number, records
    FROM (SELECT {{ c.number }} AS number, records FROM {{ 'values'|of(c) }})
    WHERE number IN (SELECT number FROM number_codes UNION SELECT number FROM pattern_codes)
    {% endfor %}
),
-- One row per column of numbers, pattern and number of the pattern in the column: how many records have it.
pattern_code_counts AS MATERIALIZED (
    SELECT place, pattern, number, code, records FROM number_code_counts JOIN pattern_codes USING (number)
),
-- One row per column and pattern of which the column has two or more numbers: the first and the last of them, how many
-- there are, and how many records have them.
pattern_counts AS MATERIALIZED (
    SELECT
        place, pattern, list(number) AS numbers, min(number) AS first_number, max(number) AS last_number,
        count(*) AS n_codes, sum(records) AS n_coded
    FROM pattern_code_counts
    GROUP BY place, pattern
    HAVING count(*) > 1
),
-- One row per column and pattern whose numbers mean missing values: they are far above all other numbers, and records
-- that have other numbers above these would have been expected.
found_patterns AS MATERIALIZED (
    SELECT place, pattern
    FROM (
        SELECT NULL::INTEGER AS place, NULL::INTEGER AS pattern, 0::BIGINT AS n_above, NULL::DOUBLE AS step,
            NULL::DOUBLE AS distance, NULL::DOUBLE AS probability
        WHERE false
        {% for c in columns if c.coded_as == 'number' %}
        UNION ALL
        SELECT
            {{ c.i }}, p.pattern,
            count(*) FILTER (
                WHERE number > p.first_number AND NOT list_contains(p.numbers, number)
                    AND NOT (number > 5 * p.last_number AND number IN (SELECT number FROM number_codes))
            ) AS n_above,
            (max(number) FILTER (WHERE number < p.first_number) - min(number) FILTER (WHERE number >= 0))
                / nullif(count(*) FILTER (WHERE number >= 0 AND number < p.first_number) - 1, 0) AS step,
            any_value(p.first_number) - max(number) FILTER (WHERE number < p.first_number) AS distance,
            (any_value(p.n_codes) * step
                / (any_value(p.last_number) - max(number) FILTER (WHERE number < p.first_number))
            ) ** any_value(p.n_coded) AS probability
        FROM (SELECT {{ c.number }} AS number FROM {{ 'values'|of(c) }}), pattern_counts AS p
        WHERE p.place = {{ c.i }}
        GROUP BY p.pattern
        {% endfor %}
    )
    WHERE n_above = 0 AND distance >= {{ mend.pattern_steps }} * step AND probability < {{ mend.pattern_probability }}
),
-- One row per column and code for a missing value in it: how many values are exactly that code, and how many records
-- have it, also with blanks around it. Of texts it is no leaf of the column's hierarchy; of numbers and dates it is far
-- from all other values.
missing_code_counts AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS code, 0 AS n_values, 0::BIGINT AS records WHERE false
    {% for c in columns if c.is_text %}
    UNION ALL
    SELECT {{ c.i }}, code, count(*) FILTER (WHERE value = code), sum(records)::BIGINT
    FROM (
        SELECT value, {{ mend.trimmed }} COLLATE POSIX AS code, records
        FROM {{ 'values'|of(c) }}
        WHERE length(value) <= 4 * {{ mend.longest }}
    )
    WHERE code IN (FROM text_codes)
        AND code NOT IN (
            SELECT l.label
            FROM hierarchy_leaves AS l
            JOIN best_hierarchies AS h USING (name)
            WHERE h.place = {{ c.i }} AND h.n_covered > 1
                AND h.n_covered >= {{ limits.MIN_COVERED_SHARE }} * (SELECT count(value) FROM {{ 'values'|of(c) }})
        )
    GROUP BY code
    {% endfor %}
    {% for c in columns if c.coded_as %}
    UNION ALL
    SELECT {{ c.i }}, k.code, 0, v.records
    {% if c.coded_as == 'number' %}
    FROM (SELECT number, records FROM number_code_counts WHERE place = {{ c.i }}) AS v
    {% else %}
    FROM (SELECT {{ c.number }} AS number, records FROM {{ 'values'|of(c) }}) AS v
    {% endif %}
    JOIN {{ sql(c.coded_as) }}_codes AS k ON v.number = k.number,
    (
        SELECT count(*) AS n_numbers, min(number) AS low, max(number) AS high
        FROM (SELECT {{ c.number }} AS number FROM {{ 'values'|of(c) }})
        WHERE number NOT IN (SELECT number FROM {{ sql(c.coded_as) }}_codes)
    ) AS others
    WHERE n_numbers > 1 AND (
        {% if c.coded_as == 'number' and not c.is_position %}
        (k.number <= -9 AND k.number < low - {{ mend.far_number }} * (high - low)) OR
        {% endif %}
        {% if c.coded_as == 'date' %}
        k.number > high + {{ mend.far_date }} * (high - low) OR k.number < low - {{ mend.far_date }} * (high - low)
        {% else %}
        k.number > high + {{ mend.far_number }} * (high - low) OR (k.number < 0 AND low >= 0)
        {% endif %}
    )
    {% endfor %}
    UNION
    SELECT k.place, k.code, 0, k.records FROM pattern_code_counts AS k JOIN found_patterns USING (place, pattern)
),
-- One row per column of texts: a list that has, for each format, whether nearly all texts of a sample have it.
candidate_formats AS MATERIALIZED (
    SELECT
        place,
        [
            {% for r in mend.reads %}
            count(*) FILTER (
                {% if r.is_date %}
                WHERE CASE WHEN is_date
                    THEN {{ r.sql }}
                    ELSE false END
                {% else %}
                WHERE {{ r.sql }}
                {% endif %}
            ) >= {{ limits.NEARLY_ALL_SHARE }} * count(*){{ sql(',') if not loop.last }}
            {% endfor %}
        ] AS is_candidate
    FROM (
        SELECT
            s.place,
            {{ mend.trimmed }} AS value,
            t.dates >= {{ limits.NEARLY_ALL_SHARE }} AS is_date
        FROM sampled_texts AS s JOIN text_features AS t USING (place)
    )
    GROUP BY place
),
-- One row per column of texts that has candidate formats: how many texts there are, and a list that has, for each
-- candidate, how many of them do not have that format.
unreadable_counts AS MATERIALIZED (
    SELECT
        place,
        count(*) AS texts,
        [
            {% for r in mend.reads %}
            CASE WHEN any_value(is_candidate[{{ loop.index }}]) THEN count(*) FILTER (
                WHERE CASE WHEN is_candidate[{{ loop.index }}]
                    THEN NOT {{ r.sql }}
                    ELSE false END
            ) END{{ sql(',') if not loop.last }}
            {% endfor %}
        ] AS n_unreadable
    FROM (
        {% for c in columns if c.is_text %}
        SELECT {{ c.i }} AS place, {{ mend.trimmed }} AS value
        FROM {{ 'values'|of(c) }}
        WHERE value IS NOT NULL
            AND EXISTS (FROM candidate_formats WHERE place = {{ c.i }} AND list_contains(is_candidate, true))
        {% if not loop.last %}
        UNION ALL
        {% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, NULL::VARCHAR AS value WHERE false
        {% endfor %}
    )
    JOIN candidate_formats USING (place)
    WHERE value NOT IN (FROM text_codes)
    GROUP BY place
),
-- One row per format that texts can have.
text_formats AS MATERIALIZED (
    {{ mend.forms }}
),
-- One row per column and candidate format: how many texts do not have it, and whether as many do not have its twin,
-- another format that can read the same texts.
format_matches AS MATERIALIZED (
    SELECT
        u.place, u.texts, f.*, u.n_unreadable[f.format_id + 1] AS n_unreadable,
        u.n_unreadable[f.twin + 1] = u.n_unreadable[f.format_id + 1] AS is_ambiguous
    FROM unreadable_counts AS u, text_formats AS f
    WHERE u.n_unreadable[f.format_id + 1] IS NOT NULL
),
-- One row per order that all columns have that show it without doubt: of days and months, or of points and commas.
known_orders AS (
    SELECT any_value(field_order) AS field_order
    FROM (
        SELECT DISTINCT field_order, field_order IN ('day', 'month') AS is_date
        FROM format_matches
        WHERE n_unreadable = 0 AND field_order IS NOT NULL AND NOT coalesce(is_ambiguous, false)
    )
    GROUP BY is_date
    HAVING count(*) = 1
),
-- One row per column of texts: its format.
column_formats AS MATERIALIZED (
    SELECT
        m.* EXCLUDE (is_ambiguous),
        coalesce(is_ambiguous, false) AS is_ambiguous, k.field_order IS NOT NULL AS is_order_known
    FROM format_matches AS m
    LEFT JOIN known_orders AS k ON k.field_order = m.field_order
    QUALIFY row_number() OVER (
        PARTITION BY m.place
        ORDER BY n_unreadable ASC, (m.field_order IS NULL OR k.field_order IS NOT NULL) DESC, format_id ASC
    ) = 1
)
