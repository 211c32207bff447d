{#- The source, read once: a sampled view or random() read twice would be two tables. Records that are equal in
    everything the call reads are one row with their number: the following steps use these distinct records. Values
    that compare equal may be written differently (0.0 and -0.0, a month and 30 days): their text (w) distinguishes
    them. If the call drops records before anything else, the source contains the remaining ones: within bounds, and
    only one of the records that are equal in everything published (and belong to one person). -#}
{% if not rereads_source %}
-- One row per record of the source, which is read only here because a second reading could return other rows.
source_copy AS MATERIALIZED (SELECT {% for c in source_columns %}\
    {% if not loop.first %}, {% endif %}{{ c }}{% endfor %} FROM {{ source }}),
{% endif %}
-- One row per kind of record of the source: the number of equal records (size), and the number of the first (rid).
{{ sql('whole_source') if bounds or distinct else sql('source') }} AS MATERIALIZED (
    SELECT
        {% for q in quasi %}{{ q.column }}, {% endfor %}
        {% for u in unchanged %}{{ u.column }}, {% if not u.text_is_value %}{{ 'text'|of(u) }}, {% endif %}{% endfor %}
        {% for s in model_columns if s.tree %}{{ 'category'|of(s) }}, {% endfor %}
        {% if person %}person, {% endif %}
        {% if key %}key, {% endif %}
        {% if weight %}sum(weight)::BIGINT{% else %}count(*){% endif %} AS size, min(rid) AS rid
    FROM (
        SELECT
            {% for q in quasi %}{{ q.value }} AS {{ q.column }}, {% endfor %}
            {% for u in unchanged %}{{ u.value }} AS {{ u.column }}, \
                {% if not u.text_is_value %}({{ u.value }})::VARCHAR AS {{ 'text'|of(u) }}, {% endif %}{% endfor %}
            {% for s in model_columns if s.tree %}{{ s.tree.value }} AS {{ 'category'|of(s) }}, {% endfor %}
            {% if person %}{{ person }} AS person, {% endif %}
            {% if key %}{{ key }} AS key, {% endif %}
            {% if weight %}{{ weight }} AS weight, {% endif %}{% if has_rowid %}rowid{% else %}row_number() \
                OVER () - 1{% endif %} AS rid
        FROM {{ origin }}
    )
    GROUP BY ALL
)
{%- if bounds or distinct +%}
-- One row per kind of record within the bounds of the call.
, bounded_records AS MATERIALIZED (
    FROM whole_source
    {% for b in bounds %}{% if loop.first %}WHERE {% else %} AND {% endif %}({{ b.column }} IS NULL \
        OR {{ b.column }} BETWEEN {{ b.low }} AND {{ b.high }}){% endfor %}
)
-- One row per kind of record that is published: duplicates are dropped if the call asks for it.
, source AS MATERIALIZED (
    {% if distinct %}
    SELECT * REPLACE (1::BIGINT AS size)
    FROM bounded_records
    {% if key %}
    QUALIFY row_number() OVER (
        PARTITION BY {% for q in quasi %}{% if not loop.first %}, {% endif %}{{ q.column }}{% endfor %}\
            {% for u in unchanged %}{% if not u.is_float %}, {{ u.column }}{% endif %}{% if not u.text_is_value %}, \
            {{ 'text'|of(u) }}{% endif %}{% endfor %}{% if person %}, person{% endif %}
        ORDER BY key ASC
    ) = 1
    {% endif %}
    {% else %}
    FROM bounded_records
    {% endif %}
)
{%- endif %}
