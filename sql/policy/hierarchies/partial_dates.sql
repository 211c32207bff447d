{#- Label paths of a calendar of texts that are dates of any precision: 1987-05-03, 1987-05-*, 1987-*, 1980s. A text
    that has no month is below its year. Inner labels differ from all texts, as 1987 is a text of its own. Texts that
    are no dates are right under *; if all are, it is an error. -#}
SELECT
    list_concat(
        ['*'],
        list_filter(
            [
                {% for level in levels|reverse %}
                {% if level == 'century' %}
                (year // 100 * 100)::VARCHAR || '-' || (year // 100 * 100 + 99)::VARCHAR,
                {% elif level == 'decade' %}
                (year // 10 * 10)::VARCHAR || 's',
                {% elif level == 'year' %}
                text_parts[1] || '-*',
                {% elif level == 'quarter' %}
                text_parts[1] || '-Q' || (month + 2) // 3,
                {% elif level == 'month' %}
                CASE WHEN month IS NOT NULL THEN text_parts[1] || '-' || text_parts[2] || '-*' END,
                {% else %}
                CASE WHEN length(text_parts[3]) = 2 THEN array_to_string(text_parts, '-') || ' (day)' END,
                {% endif %}
                {% endfor %}
            ],
            lambda label: label IS NOT NULL
        ),
        [value]
    ) AS path,
    row_number() OVER (ORDER BY value ASC NULLS LAST) AS place
FROM (
    SELECT
        value, text_parts, n_dates,
        CAST(text_parts[1] AS INTEGER) AS year,
        CASE WHEN text_parts[2] <> '' THEN CAST(text_parts[2] AS INTEGER) END AS month
    FROM (
        SELECT
            value,
            CASE
                WHEN regexp_full_match(value, '\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ].*)?)?)?')
                THEN [value[1:4], value[6:7], value[9:10]]
            END AS text_parts,
            count(text_parts) OVER () AS n_dates
        FROM (SELECT DISTINCT {{ label }} COLLATE POSIX AS value FROM {{ source }} WHERE {{ column }} IS NOT NULL)
    )
)
WHERE CASE WHEN n_dates > 0 THEN true ELSE error({{ no_dates }}) END
