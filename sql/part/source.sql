{#- The source as it is read, once: a sampled view or random() read twice would be two tables. -#}
source AS MATERIALIZED (
    SELECT
        {% for q in quasi %}{{ q.value }} AS q{{ q.i }}, {% endfor %}
        {% for u in unchanged %}{{ u.value }} AS u{{ u.i }}, {% endfor %}
        {% for s in tested if s.tree %}{{ s.tree.value }} AS q{{ s.tree.i }}, {% endfor %}
        {% if person %}{{ person }} AS person, {% endif %}
        {% if key %}{{ key }} AS key, {% endif %}
        row_number() OVER () - 1 AS rid
    FROM {{ source }}
)
