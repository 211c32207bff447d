{#- Whole numbers that are dates or zip codes: columns of the same names as "column_formats" has of texts. -#}
-- One row per format that whole numbers can have.
number_formats AS MATERIALIZED (
    {{ whole.forms }}
),
-- One row per column of whole numbers and format: how many values there are without codes for missing values, how many
-- digits they have at most, how many have another format, and whether the values together look like the format.
number_format_counts AS MATERIALIZED (
    SELECT
        NULL::INTEGER AS place, NULL::INTEGER AS format_id, 0 AS texts, NULL::BIGINT AS width, 0 AS n_unreadable,
        false AS is_likely
    WHERE false
    {% for c in columns if c.number_formats %}
    UNION ALL
    SELECT {{ c.i }}, unnest(formats, recursive := true)
    FROM (
        SELECT [
            {% for n in c.number_formats %}
            {
                'format_id': {{ n }},
                'texts': count(*),
                'width': any_value(width),
                'n_unreadable': count(*) FILTER (WHERE NOT ({{ whole.conditions[n].is_readable }})),
                'is_likely': {{ whole.conditions[n].is_likely }}
            }{{ sql(',') if not loop.last }}
            {% endfor %}
        ] AS formats
        FROM (
            SELECT value{% if whole.zip_codes in c.number_formats %}, width{% else %}, NULL AS width{% endif +%}
            FROM {{ 'values'|of(c) }}
            {% if whole.zip_codes in c.number_formats %}
            , (SELECT max(length(CAST(value AS VARCHAR))) AS width FROM {{ 'values'|of(c) }})
            {% endif %}
            , (
                SELECT 1 FROM {{ 'fences'|of(c) }}
                WHERE
                    {% for n in c.number_formats %}
                    (high >= {{ whole.conditions[n].low }} AND low <= {{ whole.conditions[n].high }})
                    {{ sql('OR') if not loop.last }}
                    {% endfor %}
            )
            WHERE value IS NOT NULL
                AND value NOT IN (SELECT CAST(code AS HUGEINT) FROM missing_code_counts WHERE place = {{ c.i }})
        )
    )
    {% endfor %}
),
-- One row per column of whole numbers: its format.
number_column_formats AS MATERIALIZED (
    SELECT
        c.place, c.texts, f.* EXCLUDE (conversion), \
        replace(f.conversion, '[]', coalesce(c.width, 0)::VARCHAR) AS conversion,
        c.n_unreadable, false AS is_ambiguous, false AS is_order_known, true AS is_from_number
    FROM number_format_counts AS c JOIN number_formats AS f USING (format_id)
    WHERE c.is_likely
    QUALIFY row_number() OVER (PARTITION BY c.place ORDER BY c.n_unreadable ASC, c.format_id ASC) = 1
)
