{#- Label paths of a calendar: 1985-03-12, 1985-03, 1985-Q1, 1985, 1980s. -#}
SELECT
    [
        '*',
        {% for level in levels|reverse %}
        {% if level == 'century' %}
        (year(day) - (year(day) % 100 + 100) % 100)::VARCHAR
            || '-' || (year(day) - (year(day) % 100 + 100) % 100 + 99)::VARCHAR,
        {% elif level == 'decade' %}
        (year(day) - (year(day) % 10 + 10) % 10)::VARCHAR || 's',
        {% elif level == 'year' %}
        year(day)::VARCHAR,
        {% elif level == 'quarter' %}
        year(day)::VARCHAR || '-Q' || quarter(day)::VARCHAR,
        {% elif level == 'month' %}
        strftime(day, '%Y-%m'),
        {% else %}
        strftime(day, '%Y-%m-%d') || ' (day)',
        {% endif %}
        {% endfor %}
        value
    ] AS path,
    row_number() OVER (ORDER BY day ASC NULLS LAST, value ASC NULLS LAST) AS place
FROM (
    SELECT DISTINCT
        {{ label }} COLLATE POSIX AS value,
        {% if zoned %}
        {{ column }} AT TIME ZONE 'UTC' AS day
        {% else %}
        CAST({{ column }} AS {% if date %}DATE{% else %}TIMESTAMP{% endif %}) AS day
        {% endif %}
    FROM {{ source }}
    WHERE {{ column }} IS NOT NULL
)
