{#- The published rows, for privacy models and metrics: records with equal values are counted. -#}
-- One row per distinct published row: its class and unchanged values under the names of this statement.
released_values AS (
    SELECT
        {{ class_id }} AS class_id
        {% if noise %}{% for q in quasi %}, {{ q.name }} AS {{ 'published'|of(q) }}{% endfor %}{% endif %}
        {% for u in unchanged %}, {{ u.name }} AS {{ u.column }}{% if not u.text_is_value %}, \
            {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }}{% endif %}{% endfor %}
        , len({{ copies }}) AS size
    FROM published_rows
),
