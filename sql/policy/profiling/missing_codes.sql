{#- Problems of the cells: codes for missing values, and texts that are dates or numbers. -#}
-- One row per column of numbers or dates and value of it that can mean a missing value: how many records have it.
number_code_counts AS MATERIALIZED (
    SELECT place, (hit).number AS number, (hit).is_listed AS is_listed, (hit).records AS records
    FROM (SELECT place, unnest(code_counts) AS hit FROM number_facts)
),
-- One row per column and pattern of which the column has two or more numbers: the first and the last of them, how many
-- there are, and how many records have them.
pattern_counts AS MATERIALIZED (
    SELECT
        place, pattern, list(number) AS numbers, min(number) AS first_number, max(number) AS last_number,
        count(*) AS n_codes, sum(records) AS n_coded
    FROM number_code_counts
    JOIN number_facts AS f USING (place)
    JOIN pattern_codes USING (number)
    WHERE f.code_type = 'number'
    GROUP BY place, pattern
    HAVING count(*) > 1
),
-- One row per column and pattern whose numbers mean missing values: they are far above all other numbers, and records
-- that have other numbers above these would have been expected.
found_patterns AS MATERIALIZED (
    SELECT place, pattern
    FROM (
        SELECT
            p.place, p.pattern,
            any_value(p.first_number) AS first_number, any_value(p.last_number) AS last_number,
            any_value(p.n_codes) AS n_codes, any_value(p.n_coded) AS n_coded,
            any_value(f.greatest_plain) AS greatest_plain,
            count(*) FILTER (
                WHERE h.number > p.first_number AND NOT (h.is_listed AND h.number > 5 * p.last_number)
            ) AS n_above,
            greatest(
                any_value(f.greatest_plain), max(h.number) FILTER (WHERE h.number < p.first_number)
            ) AS top,
            least(
                any_value(f.least_plain), min(h.number) FILTER (WHERE h.number BETWEEN 0 AND p.first_number)
            ) AS low,
            any_value(f.n_plain) + count(*) FILTER (WHERE h.number BETWEEN 0 AND p.first_number) AS n_others
        FROM pattern_counts AS p
        JOIN number_facts AS f USING (place)
        LEFT JOIN number_code_counts AS h ON h.place = p.place AND NOT list_contains(p.numbers, h.number)
        GROUP BY p.place, p.pattern
    ), LATERAL (SELECT (top - low) / nullif(n_others - 1, 0) AS step)
    WHERE n_above = 0 AND greatest_plain < first_number AND first_number - top >= {{ mend.pattern_steps }} * step
        AND (n_codes * step / (last_number - top)) ** n_coded < {{ mend.pattern_probability }}
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
    UNION ALL
    SELECT v.place, k.code, 0, v.records
    FROM number_code_counts AS v
    JOIN number_facts AS f USING (place)
    JOIN (
        SELECT 'number' AS code_type, number, code FROM number_codes
        UNION ALL
        SELECT 'date', number, code FROM date_codes
    ) AS k ON k.code_type = f.code_type AND k.number = v.number
    WHERE f.n_numbers > 1 AND CASE
        WHEN f.code_type = 'date'
        THEN v.number > f.greatest_number + {{ mend.far_date }} * (f.greatest_number - f.least_number)
            OR v.number < f.least_number - {{ mend.far_date }} * (f.greatest_number - f.least_number)
        ELSE v.number > f.greatest_number + {{ mend.far_number }} * (f.greatest_number - f.least_number)
            OR (v.number < 0 AND f.least_number >= 0)
            OR (
                v.number <= -9 AND NOT f.is_position
                AND v.number < f.least_number - {{ mend.far_number }} * (f.greatest_number - f.least_number)
            )
        END
    UNION
    SELECT p.place, k.code, 0, v.records
    FROM found_patterns AS p
    JOIN pattern_codes AS k USING (pattern)
    JOIN number_code_counts AS v ON v.place = p.place AND v.number = k.number
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
            CASE WHEN any_value(is_candidate[{{ loop.index }}]){% if r.sign %} AND bool_or({{ r.sign }}){% endif %} \
                THEN count(*) FILTER (
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
