{#- profile('table'): one row a column.
    source -> value_i -> fact -> judged -> mended -> slotted -> counted -> best. -#}
WITH
-- A row a record: The source is read once.
source AS MATERIALIZED (
    SELECT {% for c in columns %}{{ c.value }} AS c{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %}
    FROM {{ source }}
    {% if bare %}
    WHERE CASE
        WHEN EXISTS (FROM duckdb_tables() WHERE database_name = 'temp' AND lower(table_name) = {{ bare }})
            OR EXISTS (FROM duckdb_views() WHERE database_name = 'temp' AND lower(view_name) = {{ bare }})
        THEN error({{ shadowed }}) ELSE true END
    {% endif %}
),
{% include 'policy/profiling/column_stats.sql' %},
{% include 'policy/profiling/proposed_roles.sql' %},
{% include 'policy/profiling/repairs.sql' %},
{% include 'policy/profiling/unique_combinations.sql' %}
SELECT
    j.column_name,
    j.type,
    j.distinct_values,
    j.missing,
    j.unique_alone,
    CASE WHEN p.share IS NOT NULL THEN greatest(p.share, j.unique_alone) END AS unique_in_pairs,
    p.others AS pair_with,
    CASE WHEN t.share IS NOT NULL THEN greatest(t.share, p.share, j.unique_alone) END AS unique_in_triples,
    t.others AS triple_with,
    CASE
        WHEN p.share IS NULL THEN 'not counted: ' || CASE
            WHEN j.role IN ('identifier', 'person') THEN 'it is withheld'
            WHEN j.groups < 2 THEN 'it has one value'
            WHEN s.slot IS NOT NULL THEN 'there is no other column to combine it with'
            ELSE '{{ slots|length }} other columns matter more' END
        WHEN (SELECT max(mask) FROM tuples) = 0 THEN 'exact'
        ELSE 'estimated from 1 of ' || ((SELECT max(mask) FROM tuples) + 1) || ' combinations of values'
    END AS combinations,
    j.distinction,
    j.separation,
    j.outliers,
    j.outliers_by,
    j.role AS proposed_role,
    j.reason,
    j.hierarchy AS proposed_hierarchy,
    j.covered AS covered_values,
    m.missing_codes,
    m.statement,
    m.problems,
    m.repairs
FROM judged AS j
JOIN mended AS m USING (place)
LEFT JOIN slot AS s USING (place)
LEFT JOIN best AS p ON p.place = j.place AND p.size = 2
LEFT JOIN best AS t ON t.place = j.place AND t.size = 3
ORDER BY j.place ASC
