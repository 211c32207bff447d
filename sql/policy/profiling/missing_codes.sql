{#- What is wrong with the cells: codes for missing values, and texts that are dates or numbers. -#}
-- One row per number that can mean a missing value.
number_codes AS MATERIALIZED (
    SELECT number, code
    FROM ({{ mend.numbers }}) AS codes (number, code)
),
-- One row per date, in seconds, that can mean a missing value.
date_codes AS MATERIALIZED (
    SELECT number, code
    FROM ({{ mend.dates }}) AS codes (number, code)
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
    FROM (SELECT {{ c.number }} AS number, records FROM {{ 'values'|of(c) }}) AS v
    JOIN {{ sql(c.coded_as) }}_codes AS k ON v.number = k.number,
    (
        SELECT count(*) AS n_numbers, min(number) AS low, max(number) AS high
        FROM (SELECT {{ c.number }} AS number FROM {{ 'values'|of(c) }})
        WHERE number NOT IN (SELECT number FROM {{ sql(c.coded_as) }}_codes)
    ) AS others
    WHERE n_numbers > 1 AND (
        {% if c.coded_as == 'date' %}
        k.number > high + {{ mend.far_date }} * (high - low) OR k.number < low - {{ mend.far_date }} * (high - low)
        {% else %}
        k.number > high + {{ mend.far_number }} * (high - low) OR (k.number < 0 AND low >= 0)
        {% endif %}
    )
    {% endfor %}
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
