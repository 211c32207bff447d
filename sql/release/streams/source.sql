{#- The source of a stream, read once: one row per record, in the order of arrival (rid, from 1). Records that arrive
    together are in the order of a hash of everything that is read of them, so that the order in which they are stored
    reveals nothing. -#}
{%- from 'release/plan/row_identity.sql' import row_hash with context -%}
{% if not rereads_source %}
-- One row per record of the source, which is read only here because a second reading could return other rows.
source_copy AS MATERIALIZED (SELECT {% for c in source_columns %}\
    {% if not loop.first %}, {% endif %}{{ c }}{% endfor %} FROM {{ source }}),
{% endif %}
-- One row per record of the source: its number in the order of arrival (rid, from 1).
source AS MATERIALIZED (
    SELECT
        * EXCLUDE (tie), 1::BIGINT AS size,
        {% if continuation is defined %}
        coalesce(place, {{ continuation.n_before }} + row_number() \
            OVER (PARTITION BY place IS NULL \
            ORDER BY {% for o in order %}"order: {{ loop.index }}" ASC NULLS FIRST, {% endfor %}tie ASC)) AS rid
        {% else %}
        row_number() OVER (ORDER BY {% for o in order %}"order: {{ loop.index }}" ASC NULLS FIRST, {% endfor %}tie \
            ASC) AS rid
        {% endif %}
    FROM (
        SELECT *, {{ row_hash(sql('')) }} AS tie
        FROM (
            SELECT
                {% for q in quasi %}{{ q.value }} AS {{ q.column }}, {% endfor %}
                {% for u in unchanged %}{{ u.value }} AS {{ u.column }}, \
                    {% if not u.text_is_value %}({{ u.value }})::VARCHAR AS {{ 'text'|of(u) }}, {% endif %}{% endfor %}
                {% for s in model_columns if s.tree %}{{ s.tree.value }} AS {{ 'category'|of(s) }}, {% endfor %}
                {% if person %}{{ person }} AS person, {% endif %}
                {% if continuation is defined %}{{ continuation.place }} AS place, \
                    {{ continuation.row }} AS source_row, {% endif %}
                {% for o in order %}{{ o }} AS "order: {{ loop.index }}"{% if not loop.last %}, {% endif %}{% endfor %}
            FROM {{ origin }}
        )
    )
)
