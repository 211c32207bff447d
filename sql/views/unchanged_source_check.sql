{#- Whether the tables and the membership of a version agree, and the source returns the same rows again; a view may
    return others each time. One row: in how many values, counts and checksums they differ. `n_records` is the number
    of records if the release gate has read the source again: then it is not read here. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash with context -%}
WITH
{% if n_records is none %}
{% include 'release/plan/source.sql' %},
{% endif %}
-- One row per class and published value of the release: how many rows.
released_values AS MATERIALIZED (
    SELECT class_id, value_hash, sum(size)::BIGINT AS size
    FROM (
        {# Equal values are hashed once. #}
        SELECT class_id, {{ value_hash(sql('v.'), false) }} AS value_hash, size
        FROM (
            SELECT
                {{ class_id }} AS class_id
                {% for u in unchanged %}
                , {{ u.name }} AS {{ u.column }}
                {% if not u.text_is_value %}
                , {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }}
                {% endif %}
                {% endfor %}
                , count(*) AS size
            FROM {{ version }}
            GROUP BY ALL
        ) AS v
    )
    GROUP BY ALL
),
-- One row per record of the version in the membership.
version_members AS MATERIALIZED (SELECT * FROM {{ members }}),
-- One row per class and published value in the membership: how many records.
member_values AS MATERIALIZED (
    SELECT class_id, value_hash, sum(records)::BIGINT AS size
    FROM version_members
    WHERE class_id IS NOT NULL
    GROUP BY ALL
),
-- One row per class of the release: its size.
released_sizes AS MATERIALIZED (SELECT class_id, sum(size)::BIGINT AS size FROM released_values GROUP BY ALL),
-- One row per class in the table of classes: its size.
listed_sizes AS MATERIALIZED (
    SELECT {{ class_id }} AS class_id, {{ names.size }}::BIGINT AS size
    FROM {{ classes }}
    WHERE {{ class_id }} IS NOT NULL
),
-- One row per value that is not in both with the same count.
value_differences AS (
    (FROM released_values EXCEPT FROM member_values) UNION ALL (FROM member_values EXCEPT FROM released_values)
),
-- One row per class that is not in both with the same size.
size_differences AS (
    (FROM released_sizes EXCEPT FROM listed_sizes) UNION ALL (FROM listed_sizes EXCEPT FROM released_sizes)
)
SELECT
    (SELECT count(*) FROM value_differences)
    + (SELECT count(*) FROM size_differences)
    {% if n_records is none %}
    + (
        (SELECT coalesce(sum({{ row_hash(sql('')) }}::HUGEINT * size), 0) FROM source)
        <> (SELECT coalesce(sum(row_hash::HUGEINT * records), 0) FROM version_members)
    )::INTEGER
    {% else %}
    + ((SELECT coalesce(sum(records), 0) FROM version_members) <> {{ n_records }})::INTEGER
    {% endif %}
