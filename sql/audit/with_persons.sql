{#- The rows of a release with the persons that the ledger knows. It does not matter which of the equal rows of a class
    belongs to which person, because no measure distinguishes them. -#}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
(
        SELECT k.* EXCLUDE ("dbanon hash"), m.person_key AS {{ person }}
        FROM (
            SELECT DISTINCT ON ({{ class_id }}, "dbanon hash")
                {{ value_hash(sql(''), true) }} AS "dbanon hash", *
            FROM {{ release }}
        ) AS k
        JOIN {{ members }} AS m
            ON m.class_id = k.{{ class_id }} AND m.value_hash = k."dbanon hash"
        CROSS JOIN unnest(range(m.records))
    )
