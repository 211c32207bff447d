{#- Label paths of nested intervals, `[20, 24]` for whole numbers and `[20, 25)` for others. -#}
SELECT
    ['*'{% for w in widths|reverse %},
        {% if integer -%}
        '[' || (number - ((number % {{ w }}) + {{ w }}) % {{ w }})::VARCHAR || ', '
            || (number - ((number % {{ w }}) + {{ w }}) % {{ w }} + {{ w }} - 1)::VARCHAR || ']'
        {%- else -%}
        '[' || (floor(number / {{ w }}) * {{ w }})::HUGEINT::VARCHAR || ', '
            || (floor(number / {{ w }}) * {{ w }} + {{ w }})::HUGEINT::VARCHAR || ')'
        {%- endif %}{% endfor %},
        value] AS path,
    row_number() OVER (ORDER BY number ASC NULLS LAST) AS place
FROM (
    SELECT DISTINCT
        {{ label }} COLLATE POSIX AS value,
        {{ column }}::{% if integer %}HUGEINT{% else %}DOUBLE{% endif %} AS number
    FROM {{ source }}
    WHERE {{ column }} IS NOT NULL
)
