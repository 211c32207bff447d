{#- What is wrong with the cells of each column, and the statement that mends it: broken -> repaired -> mended. -#}
-- A row a column: the pieces of its statements.
piece AS MATERIALIZED ({{ pieces }}),
-- A row a column: which of its problems count. Who is withheld by name needs no mending; what tells persons apart keeps
-- its type, and so do codes of places and things.
broken AS MATERIALIZED (
    SELECT
        j.*, p.* EXCLUDE (place), b.padded AS padded_records, coalesce(s.n_ids, 0) AS n_spelled,
        f.* EXCLUDE (place, type), f.type AS new_type,
        j.role NOT IN ('identifier', 'person') AND NOT j.has_hierarchy AND f.texts > 0 AND f.unread <= (1 - {{ limits.NEARLY_ALL_SHARE }}) * f.texts
            AND (new_type IN ('DATE', 'TIMESTAMP') OR (
                j.id_word IS NULL AND (new_type = 'DOUBLE' OR f.texts > 2)
                AND NOT coalesce(regexp_matches(j.named_quasi, {{ postal }}), false)
            )) AS has_form,
        coalesce(has_form AND f.unread = 0, false) AS is_converted,
        j.role <> 'identifier' AND j.codes IS NOT NULL AND NOT is_converted AS has_codes,
        coalesce(j.role <> 'identifier' AND b.padded > 0 AND NOT is_converted, false) AS is_padded,
        CASE WHEN len(j.codes) > 0 THEN '''' || array_to_string(list_transform(j.codes, lambda code: replace(code, '''', '''''')), ''', ''') || '''' END AS listed,
        CASE WHEN b.padded > 0 THEN p.trimmed ELSE p.words END AS bare,
        replace(f.made, '{}', bare) AS made_of,
        'NOT ' || replace(f.reads, '{}', bare) || CASE WHEN listed IS NULL THEN '' ELSE ' AND ' || bare || ' NOT IN (' || listed || ')' END AS unreadable
    FROM judged AS j
    JOIN piece AS p USING (place)
    LEFT JOIN shaped AS f USING (place)
    LEFT JOIN (
        {% for c in columns if c.is_text %}
        SELECT {{ c.i }} AS place, sum(records) FILTER (WHERE value <> {{ mend.trimmed }}) AS padded FROM value_{{ c.i }}
        {% if not loop.last %}UNION ALL{% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, 0 AS padded WHERE false
        {% endfor %}
    ) AS b USING (place)
    LEFT JOIN (
        {% for c in keys if c.is_text %}
        SELECT {{ c.i }} AS place, sum(n_values) AS n_ids
        FROM (SELECT count(*) AS n_values FROM value_{{ c.i }} WHERE value IS NOT NULL GROUP BY {{ plain_id }} HAVING count(*) > 1)
        {% if not loop.last %}UNION ALL{% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, 0 AS n_ids WHERE false
        {% endfor %}
    ) AS s USING (place)
),
-- A row a column: its statements. What is no table is mended in a view; a view has all its columns at once.
repaired AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN is_converted THEN nullif(concat_ws(', ', held, listed), '') WHEN has_codes THEN listed END AS gone,
        CASE WHEN role NOT IN ('{{ withheld }}') THEN {{ insert }}
            || CASE WHEN applies THEN ', hierarchy' ELSE '' END || CASE WHEN has_codes THEN ', missing_codes' ELSE '' END
            || ') VALUES (' || {{ place }} || literal || ', ''' || role || ''''
            || CASE WHEN applies THEN ', ''' || replace(hierarchy, '''', '''''') || '''' ELSE '' END
            || CASE WHEN has_codes THEN ', [' || listed || ']' ELSE '' END || ')' END AS statement,
        CASE
            WHEN is_converted AND gone IS NOT NULL THEN 'CASE WHEN ' || bare || ' NOT IN (' || gone || ') THEN ' || made_of || ' END'
            WHEN is_converted THEN made_of
            WHEN has_codes THEN 'CASE WHEN ' || CASE WHEN is_text THEN bare ELSE plain END || ' NOT IN (' || gone || ') THEN '
                || CASE WHEN is_padded THEN trimmed ELSE plain END || ' END'
            WHEN is_padded THEN trimmed
        END AS whole,
        {% if views %}
        CASE WHEN count(*) FILTER (WHERE is_converted OR is_padded) OVER () > 0 THEN {{ views.head }}
            || string_agg(CASE WHEN whole IS NOT NULL THEN whole || ' AS ' || plain END, ', ') OVER (ORDER BY place ASC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
            || {{ views.tail }} END AS viewed
        {% else %}
        NULL::VARCHAR AS viewed
        {% endif %}
    FROM broken
),
-- A row a column: its problems, and in the same order the statements that mend them.
mended AS MATERIALIZED (
    SELECT
        place, statement, CASE WHEN role <> 'identifier' THEN codes END AS missing_codes,
        list_filter([
            CASE
                WHEN is_converted THEN said || CASE WHEN is_both THEN '; ' || CASE WHEN is_known
                        THEN regexp_replace(taken, 'taken as.*', 'taken as other columns of the table show') ELSE taken END ELSE '' END
                    || CASE WHEN hint <> '' THEN '; ' || hint ELSE '' END
                    || CASE WHEN gone IS NOT NULL THEN '; NULL in place of codes for missing values: ' || gone ELSE '' END
                WHEN has_form THEN said || ', but not all: values that are none: ' || unread || '. Hint: correct them; '
                    || 'SELECT ' || plain || ', count(*) FROM ' || {{ where }} || ' WHERE ' || unreadable
                    || ' GROUP BY ALL lists them.'
            END,
            CASE WHEN has_codes THEN 'codes for missing values: ' || listed || ' in records: ' || coded
                || CASE WHEN role = '{{ withheld }}' AND declared_end IS NULL AND viewed IS NULL THEN '; declare them when you say what the column is, missing_codes = [' || listed || ']' ELSE '' END END,
            CASE WHEN is_padded THEN 'blanks around values in records: ' || padded_records END,
            CASE WHEN role = 'person' AND n_spelled > 0 THEN 'ids of persons that differ from another one only by blanks, case or '
                || 'leading zeros, and count as different people: ' || n_spelled END
        ], lambda said: said IS NOT NULL) AS problems,
        list_concat(
            CASE WHEN has_form THEN [CASE WHEN is_converted THEN coalesce(viewed, altered || new_type || ' USING ' || whole || coalesce(forgotten, '')) END] ELSE [] END,
            CASE WHEN has_codes THEN [coalesce(viewed, declared || listed || declared_end, statement)] ELSE [] END,
            CASE WHEN is_padded THEN [coalesce(viewed, padded)] ELSE [] END,
            CASE WHEN role = 'person' AND n_spelled > 0 THEN [NULL] ELSE [] END
        ) AS repairs
    FROM repaired
)
