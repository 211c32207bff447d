{#- sampled_cells: `sample` records of a relation of combinations (values of columns, sensitive values where there are
    some, identity, records), or all if there are fewer. They are drawn by a hash of the seed and of the record, so that
    the order of rows does not matter. -#}
{% macro sample_of(relation, columns, values) %}
{% set names %}{% for c in columns + values %}{{ c.column }}, {% endfor %}identity{% endset %}
-- One row per combination of which records were drawn: their number.
sampled_cells AS MATERIALIZED (
    SELECT {{ names }}, count(*)::BIGINT AS records
    FROM (
        SELECT {{ names }}
        FROM (SELECT *, unnest(range(records)) AS copy FROM {{ relation }})
        ORDER BY md5_number_lower(row({{ seed }}, {{ names }}, copy)::VARCHAR) ASC
        LIMIT {{ sample }}
    )
    GROUP BY ALL
),
{% endmacro %}
