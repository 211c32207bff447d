{#- The source as it is read, once: a sampled view or random() read twice would be two tables. Where the call leaves records
    out before anything else, the source is what is left: within bounds, and of records alike in all that is published (of
    one person) only one; numbers with a point by their text, since DuckDB 1 makes one zero of two where it partitions. -#}
{% if not source_twice %}
-- The source as it came, a row a record: what cannot be read twice alike is read here and never again.
as_it_came AS MATERIALIZED (SELECT {% for c in source_columns %}{% if not loop.first %}, {% endif %}{{ c }}{% endfor %} FROM {{ source }}),
{% endif %}
-- The source, read once: a row a record, numbered (rid).
-- {%+ for q in quasi %}q{{ q.i }} is {{ q.plain|comment }}{{ sql('; ') if not loop.last }}{% endfor %}
{%- for u in unchanged %}; u{{ u.i }} is {{ u.plain|comment }}{% endfor +%}
{{ sql('whole_source') if bounds or distinct else sql('source') }} AS MATERIALIZED (
    SELECT
        {% for q in quasi %}{{ q.value }} AS q{{ q.i }}, {% endfor %}
        {% for u in unchanged %}{{ u.value }} AS u{{ u.i }}, {% endfor %}
        {% for s in tested if s.tree %}{{ s.tree.value }} AS q{{ s.tree.i }}, {% endfor %}
        {% if person %}{{ person }} AS person, {% endif %}
        {% if key %}{{ key }} AS key, {% endif %}
        row_number() OVER () - 1 AS rid
    FROM {{ origin }}
)
{%- if bounds or distinct +%}
-- The records within the bounds of the call: a row a record.
, bounded AS MATERIALIZED (
    FROM whole_source
    {% for b in bounds %}{% if loop.first %}WHERE {% else %} AND {% endif %}(q{{ b.i }} IS NULL OR q{{ b.i }} BETWEEN {{ b.low }} AND {{ b.high }}){% endfor %}
)
-- The records that count, a row a record: of duplicates only one, where the call asks for that.
, source AS MATERIALIZED (
    FROM bounded
    {% if distinct %}
    QUALIFY row_number() OVER (
        PARTITION BY {% for q in quasi %}{% if not loop.first %}, {% endif %}q{{ q.i }}{% endfor %}{% for u in unchanged %}{% if not u.is_float %}, u{{ u.i }}{% endif %}{% if not u.text_is_value %}, u{{ u.i }}::VARCHAR{% endif %}{% endfor %}{% if person %}, person{% endif %}
        {% if key %}ORDER BY key ASC{% endif %}
    ) = 1
    {% endif %}
)
{%- endif %}
