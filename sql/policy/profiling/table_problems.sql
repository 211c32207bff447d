{#- Problems of values that show in other records or columns: dates of mixed precision, spellings of one value, rows of
    totals, and dates of birth in the wrong century. -#}
-- One row per column: the statements that repair these problems.
table_repair_parts AS MATERIALIZED (
    {{ table_pieces }}
),
-- One row per column of texts that are dates, some of them without a day or a month.
mixed_dates AS MATERIALIZED (
    SELECT place
    FROM sampled_texts
    GROUP BY place
    HAVING count(*) FILTER (WHERE regexp_full_match(value, {{ compared.partial_date }}))
            >= {{ compared.nearly_all }} * count(*)
        AND (
            count(*) FILTER (WHERE length(value) = 7) > 0
            OR (count(*) FILTER (WHERE length(value) = 4) > 0 AND count(*) FILTER (WHERE length(value) >= 10) > 0)
        )
),
-- One row per sensitive column of texts: how many of its values differ from another one only by their spelling. Blanks
-- around values are another problem.
spelling_counts AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, 0 AS n_spellings WHERE false
    {% for c in columns if c.is_text and c.may_have_spellings %}
    UNION ALL
    SELECT {{ c.i }}, sum(n_values)
    FROM (
        SELECT count(DISTINCT {{ mend.trimmed }}) AS n_values
        FROM {{ 'values'|of(c) }}, (
            SELECT place FROM proposed_roles
            WHERE place = {{ c.i }} AND role = 'sensitive' AND distinct_values <= {{ compared.max_values }}
        )
        WHERE value IS NOT NULL
        GROUP BY {{ compared.spelling }}
        HAVING n_values > 1
    )
    HAVING count(*) > 0
    {% endfor %}
),
-- One row: the column and the text that mark a row of totals, if one record has such a text.
total_labels AS MATERIALIZED (
    SELECT place, label
    FROM (
        SELECT NULL::INTEGER AS place, NULL::VARCHAR AS label WHERE false
        {% for c in columns if c.is_text %}
        UNION ALL
        SELECT {{ c.i }}, value
        FROM {{ 'values'|of(c) }}
        WHERE records = 1 AND value IN (SELECT word COLLATE POSIX FROM ({{ compared.words }}))
        {% endfor %}
    )
    ORDER BY place ASC, label ASC
    LIMIT 1
),
-- One row per column of numbers, if there is such a text: its number in the row of totals.
label_numbers AS MATERIALIZED (
    SELECT unnest(places) AS place, unnest(numbers) AS number
    FROM (
        SELECT
            [
                {% for c in columns if c.coded_as == 'number' %}
                {{ c.i }}{{ sql(',') if not loop.last }}
                {% endfor %}
            ]::INTEGER[] AS places,
            [
                {% for c in columns if c.coded_as == 'number' %}
                {{ c.column }}::DOUBLE{{ sql(',') if not loop.last }}
                {% endfor %}
            ]::DOUBLE[] AS numbers
        FROM source, total_labels AS t
        WHERE CASE
            WHEN t.place IS NULL THEN false
            {% for c in columns if c.is_text %}
            WHEN t.place = {{ c.i }} THEN {{ c.column }} = t.label
            {% endfor %}
            END
    )
),
-- One row, if a number of that row is the sum of all other numbers of its column: the column and the text.
total_rows AS MATERIALIZED (
    SELECT DISTINCT t.place, t.label
    FROM total_labels AS t, label_numbers AS n JOIN number_facts AS f USING (place)
    WHERE n.number = f.maximum AND f.n_maximum = 1 AND n.number > 0
        AND abs(2 * n.number - f.total) <= {{ compared.total_difference }} * f.total
),
-- One row per column of dates of birth that are all from 1969 to 2068: how many records have one that is after today or
-- after another date of the record, if one of these is more than a year later.
late_births AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, 0 AS n_late WHERE false
    {% for c in columns if c.is_birth %}
    UNION ALL
    SELECT {{ c.i }}, count(*) FILTER (WHERE born > earliest)
    FROM (
        SELECT
            CAST({{ c.column }} AS TIMESTAMP) AS born,
            least(
                get_current_timestamp() AT TIME ZONE 'UTC'
                {% for o in columns if o.is_other_date %}
                , CAST({{ o.column }} AS TIMESTAMP)
                {% endfor %}
            ) AS earliest
        FROM source, (
            SELECT 1 FROM {{ 'values'|of(c) }}
            HAVING min(CAST(value AS TIMESTAMP)) >= TIMESTAMP '1969-01-01'
                AND max(CAST(value AS TIMESTAMP)) < TIMESTAMP '2069-01-01'
        )
    )
    HAVING count(*) FILTER (WHERE born > earliest + INTERVAL 1 YEAR) > 0
    {% endfor %}
),
-- One row per column that has such problems: the problems, and in the same order the statements that repair them.
table_problems AS MATERIALIZED (
    SELECT place, list(problem ORDER BY rank ASC) AS problems, list(repair ORDER BY rank ASC) AS repairs
    FROM (
        SELECT
            place, 1 AS rank,
            'dates of which some have no day or no month: publish them along a calendar' AS problem,
            calendar AS repair
        FROM mixed_dates JOIN proposed_roles AS r USING (place) JOIN table_repair_parts USING (place)
        WHERE NOT r.has_hierarchy AND r.role NOT IN ('identifier', 'person')
        UNION ALL
        SELECT
            place, 2,
            'spellings of one value, which differ only by case, blanks or the form of accents and count as different '
                || 'values: ' || n_spellings
                || CASE WHEN one_spelling IS NULL THEN '. Hint: write each value in one way' ELSE '' END,
            one_spelling
        FROM spelling_counts JOIN table_repair_parts USING (place)
        UNION ALL
        SELECT
            place, 3,
            'a row of totals, which is no record: ''' || label || ''''
                || CASE WHEN deletion IS NULL THEN '. Hint: remove it' ELSE '' END,
            deletion || '''' || label || ''''
        FROM total_rows JOIN table_repair_parts USING (place)
        UNION ALL
        SELECT
            place, 4,
            'dates of birth after today or after another date of the record, in records: ' || n_late
                || '; two digits of a year were read as 1969 to 2068'
                || CASE WHEN century IS NULL THEN '. Hint: subtract 100 years from them' ELSE '' END,
            century
        FROM late_births JOIN table_repair_parts USING (place)
    )
    GROUP BY place
)
