{#- profile('table'): one row per column.
    source -> "age: values" -> column_facts -> proposed_roles -> column_repairs, and
    source -> value_combinations -> combination_counts -> best_combinations. -#}
WITH
-- One row per record. The source is read once.
source AS MATERIALIZED (
    SELECT
        {% for c in columns %}
        {{ c.value }} AS {{ c.column }}{{ sql(',') if not loop.last }}
        {% endfor %}
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
{% include 'policy/profiling/number_formats.sql' %},
{% include 'policy/profiling/repairs.sql' %},
{% include 'policy/profiling/table_problems.sql' %},
{% include 'policy/profiling/unique_combinations.sql' %}
SELECT
    r.column_name,
    r.type,
    r.distinct_values,
    r.missing,
    r.unique_alone,
    CASE WHEN pairs.share IS NOT NULL THEN greatest(pairs.share, r.unique_alone) END AS unique_in_pairs,
    pairs.other_columns AS pair_with,
    CASE
        WHEN triples.share IS NOT NULL THEN greatest(triples.share, pairs.share, r.unique_alone)
    END AS unique_in_triples,
    triples.other_columns AS triple_with,
    CASE
        WHEN pairs.share IS NULL THEN 'not counted: ' || CASE
            WHEN r.role IN ('identifier', 'person') THEN 'it is withheld'
            WHEN r.n_groups < 2 THEN 'it has one value'
            WHEN c.rank IS NOT NULL THEN 'there is no other column to combine it with'
            ELSE '{{ slots|length }} other columns matter more' END
        WHEN (SELECT max(mask) FROM masked_combinations) = 0 THEN 'exact'
        ELSE 'estimated from 1 of ' || ((SELECT max(mask) FROM masked_combinations) + 1) || ' combinations of values'
    END AS combinations,
    r.distinction,
    r.separation,
    r.outliers,
    r.outliers_by,
    r.role AS proposed_role,
    r.reason,
    r.hierarchy AS proposed_hierarchy,
    r.covered_values,
    m.missing_codes,
    m.statement,
    list_concat(m.problems, coalesce(x.problems, [])) AS problems,
    list_concat(m.repairs, coalesce(x.repairs, [])) AS repairs
FROM proposed_roles AS r
JOIN column_repairs AS m USING (place)
LEFT JOIN table_problems AS x USING (place)
LEFT JOIN combined_columns AS c USING (place)
LEFT JOIN best_combinations AS pairs ON pairs.place = r.place AND pairs.size = 2
LEFT JOIN best_combinations AS triples ON triples.place = r.place AND triples.size = 3
ORDER BY r.place ASC
