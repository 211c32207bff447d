{#- What a reader of two versions can subtract: the rows that this version has in a class, by published values, and the
    other has not. They must be none or meet the whole model by themselves. Where classes were kept, the same holds of what
    was taken from each cluster or came as a new one, whatever the classes are called now, and of what is left of a cluster
    that lost records: then any two versions differ by sets that meet the model, not only neighbours. One row: how many
    sets do not. It shares no step with what made the versions. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
{#- An earlier version may have the days of the months or years that this one names. -#}
{% macro cells() -%}{% for c in quasi_output %}{% if c.is_dated %}{{ form.in_days(sql('CAST(', c.name, ' AS VARCHAR)')) }}{% else %}{{ c.name }}{% endif %} AS p{{ loop.index }}, {% endfor %}{%- endmacro %}
{% macro same() -%}{% for c in quasi_output %}{% if not loop.first %} AND {% endif %}c.p{{ loop.index }} IS NOT DISTINCT FROM l.p{{ loop.index }}{% endfor %}{%- endmacro %}
{% macro counted(of) -%}
    SELECT cluster_id, class_id, value_hash, {% if person %}person_key, {% endif %}sum(records)::BIGINT AS records FROM {{ of }} WHERE class_id IS NOT NULL GROUP BY ALL
{%- endmacro %}
WITH RECURSIVE
mine AS MATERIALIZED (
    SELECT {{ cells() }}{{ class_id }} AS id, {{ value_hash(sql(''), true) }} AS value_hash, count(*) AS size{% for u in unchanged %}, any_value({{ u.name }}) AS {{ u.column }}{% endfor %}
    FROM {{ version }}
    GROUP BY {% for c in quasi_output %}{{ c.name }}, {% endfor %}id, value_hash
),
theirs AS MATERIALIZED (
    SELECT {{ cells() }}{{ other_class_id }} AS id, {{ value_hash(sql(''), true) }} AS value_hash, count(*) AS size
    FROM {{ other }}
    GROUP BY {% for c in quasi_output %}{{ c.name }}, {% endfor %}id, value_hash
),
value_of AS MATERIALIZED (SELECT value_hash{% for u in unchanged %}, any_value({{ u.column }}) AS {{ u.column }}{% endfor %} FROM mine GROUP BY value_hash),
label AS MATERIALIZED (
    SELECT row_number() OVER () AS pair, *
    FROM (
        SELECT {% for c in quasi_output %}p{{ loop.index }}, {% endfor %}true AS published FROM mine
        UNION
        SELECT {% for c in quasi_output %}p{{ loop.index }}, {% endfor %}true FROM theirs
    )
),
my_class AS MATERIALIZED (SELECT DISTINCT l.pair, c.id FROM mine AS c JOIN label AS l ON {{ same() or 'true' }}),
their_class AS MATERIALIZED (SELECT DISTINCT l.pair, c.id FROM theirs AS c JOIN label AS l ON {{ same() or 'true' }}),
net AS MATERIALIZED (
    SELECT pair, value_hash, m.size - coalesce(t.size, 0) AS size
    FROM (SELECT pair, value_hash, sum(size)::BIGINT AS size FROM mine JOIN my_class USING (id) GROUP BY ALL) AS m
    LEFT JOIN (SELECT pair, value_hash, sum(size)::BIGINT AS size FROM theirs JOIN their_class USING (id) GROUP BY ALL) AS t
        USING (pair, value_hash)
    WHERE m.size > coalesce(t.size, 0)
),
my_members AS MATERIALIZED ({{ counted(members) }}),
their_members AS MATERIALIZED ({{ counted(other_members) }}),
{% macro people(of, class) -%}
    SELECT pair, value_hash, person_key, sum(records)::BIGINT AS records FROM {{ of }} JOIN {{ class }} AS c ON c.id = class_id GROUP BY ALL
{%- endmacro %}
piece AS MATERIALIZED (
    SELECT dense_rank() OVER (ORDER BY kind ASC, id ASC) AS class_id, value_hash, size{% if person %}, person{% endif %}
    FROM (
        {% if person %}
        {# Behind what moved are people who have a value that moved more often in the class than in the other version. #}
        SELECT 'label' AS kind, pair AS id, value_hash, m.records - coalesce(t.records, 0) AS size, m.person_key AS person
        FROM net AS n
        JOIN ({{ people(sql('my_members'), sql('my_class')) }}) AS m USING (pair, value_hash)
        LEFT JOIN ({{ people(sql('their_members'), sql('their_class')) }}) AS t
            ON t.pair = n.pair AND t.value_hash = n.value_hash AND t.person_key IS NOT DISTINCT FROM m.person_key
        WHERE m.records > coalesce(t.records, 0)
        UNION ALL
        {# A set of nobody is one too. #}
        SELECT 'label', pair, value_hash, size, NULL FROM net
        {% else %}
        SELECT 'label' AS kind, pair AS id, value_hash, size FROM net
        {% endif %}
        {% if kept_clusters %}
        UNION ALL
        SELECT kind, cluster_id, value_hash, size{% if person %}, person_key{% endif %}
        FROM (
            SELECT unnest(['moved', 'stayed']) AS kind, unnest([gone, records - gone]) AS size, *
            FROM (
                SELECT m.*, greatest(m.records - coalesce(t.records, 0), 0) AS gone
                FROM (SELECT * EXCLUDE (class_id) FROM my_members) AS m
                LEFT JOIN (SELECT * EXCLUDE (class_id) FROM their_members) AS t
                    ON t.cluster_id = m.cluster_id AND t.value_hash = m.value_hash{% if person %} AND t.person_key IS NOT DISTINCT FROM m.person_key{% endif %}
            )
        )
        WHERE size > 0 AND (kind = 'moved' OR {% if is_new %}cluster_id IN (
            SELECT cluster_id
            FROM (SELECT cluster_id, sum(records) AS records FROM their_members GROUP BY ALL) AS t
            JOIN (SELECT cluster_id, sum(records) AS records FROM my_members GROUP BY ALL) AS m USING (cluster_id)
            WHERE t.records > m.records
        ){% else %}false{% endif %})
        {% endif %}
    )
),
{% include 'ledger/composition/class_differences.sql' %}
SELECT count(DISTINCT class_id)::BIGINT AS classes FROM failed
