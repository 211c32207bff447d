{#- The value that a release achieves for one measure of the privacy models: (detail, value), one row per sensitive
    column. -#}
SELECT detail, value
FROM (
    VALUES
        (NULL, NULL)
        {% for s in model_columns %}
        {% for m in s.models if m.metric == metric %}
        , (
            {{ m.column }},
            (SELECT {% if m.higher %}min{% else %}max{% endif %}(value) FROM {{ ('measured ' ~ m.parameter)|of(m) }})
        )
        {% endfor %}
        {% endfor %}
) AS achieved_values (detail, value)
WHERE detail IS NOT NULL
