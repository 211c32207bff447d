{#- Problems of the cells of each column, and the statements that repair them: column_problems -> column_statements ->
    column_repairs. -#}
-- One row per column: the parts of its statements.
statement_parts AS MATERIALIZED (
    {{ pieces }}
),
-- One row per column: which of its problems count. A column that is withheld by its name needs no repair. A column that
-- distinguishes persons keeps its type, and so do codes of places and things.
column_problems AS MATERIALIZED (
    SELECT
        r.*, p.* EXCLUDE (place),
        f.* EXCLUDE (place, type), f.type AS new_type,
        b.n_padded, coalesce(s.n_ids, 0) AS n_similar_ids,
        NOT r.has_hierarchy AND f.texts > 0
            AND f.n_unreadable <= (1 - {{ limits.NEARLY_ALL_SHARE }}) * f.texts
            AND r.role <> 'person'
            {# A number may be an identifier only because it is read as one. #}
            AND (r.role <> 'identifier' OR (f.is_from_number AND r.key_word IS NULL AND r.named_quasi IS NOT NULL))
            AND (new_type IN ('DATE', 'TIMESTAMP', 'VARCHAR') OR (
                r.key_word IS NULL AND (new_type = 'DOUBLE' OR f.texts > 2)
                AND NOT coalesce(regexp_matches(r.named_quasi, {{ postal }}), false)
            )) AS has_format,
        coalesce(has_format AND f.n_unreadable = 0, false) AS is_converted,
        r.role <> 'identifier' AND r.codes IS NOT NULL AND NOT is_converted AS has_codes,
        coalesce(r.role <> 'identifier' AND b.n_padded > 0 AND NOT is_converted, false) AS is_padded,
        {# Numbers of files and data frames in which some are missing. #}
        r.role <> 'identifier' AND r.has_integers AND (r.missing > 0 OR r.n_not_finite > 0) AS is_integer,
        'TRY_CAST(' || p.quoted_name || ' AS BIGINT)' AS integer_value,
        CASE WHEN is_integer THEN integer_value ELSE p.quoted_name END AS plain_value,
        CASE WHEN len(r.codes) > 0 THEN '''' || array_to_string(
            list_transform(r.codes, lambda code: replace(code, '''', '''''')), ''', '''
        ) || '''' END AS code_list,
        CASE WHEN b.n_padded > 0 THEN p.trimmed_text ELSE p.cell_text END AS clean_text,
        replace(f.conversion, '{}', clean_text) AS converted_text,
        'NOT ' || replace(f.condition, '{}', clean_text)
            || CASE WHEN code_list IS NULL THEN '' ELSE ' AND ' || clean_text || ' NOT IN (' || code_list || ')' END
            AS unreadable_condition
    FROM proposed_roles AS r
    JOIN statement_parts AS p USING (place)
    LEFT JOIN (
        SELECT *, false AS is_from_number FROM column_formats
        UNION ALL BY NAME
        FROM number_column_formats
    ) AS f USING (place)
    LEFT JOIN (
        {% for c in columns if c.is_text %}
        SELECT
            {{ c.i }} AS place,
            sum(records) FILTER (WHERE value <> {{ mend.trimmed }}) AS n_padded
        FROM {{ 'values'|of(c) }}
        {% if not loop.last %}
        UNION ALL
        {% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, 0 AS n_padded WHERE false
        {% endfor %}
    ) AS b USING (place)
    LEFT JOIN (
        {% for c in keys if c.is_text %}
        SELECT {{ c.i }} AS place, sum(n_values) AS n_ids
        FROM (
            SELECT count(*) AS n_values
            FROM {{ 'values'|of(c) }}
            WHERE value IS NOT NULL
            GROUP BY {{ plain_id }}
            HAVING count(*) > 1
        )
        {% if not loop.last %}
        UNION ALL
        {% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, 0 AS n_ids WHERE false
        {% endfor %}
    ) AS s USING (place)
),
-- One row per column: its statements. A source that is no table is repaired in a view, which has all its columns at
-- once.
column_statements AS MATERIALIZED (
    SELECT
        *,
        CASE
            WHEN is_converted THEN nullif(concat_ws(', ', existing_codes, code_list), '')
            WHEN has_codes THEN code_list
        END AS null_codes,
        CASE WHEN role <> '{{ withheld }}' THEN
            {{ insert }}
            || CASE WHEN is_hierarchy_complete THEN ', hierarchy' ELSE '' END
            || CASE WHEN has_codes THEN ', missing_codes' ELSE '' END
            || ') VALUES (' || {{ place }} || literal || ', ''' || role || ''''
            || CASE WHEN is_hierarchy_complete THEN ', ''' || replace(hierarchy, '''', '''''') || '''' ELSE '' END
            || CASE WHEN has_codes THEN ', [' || code_list || ']' ELSE '' END || ')'
        END AS statement,
        CASE
            WHEN is_converted AND null_codes IS NOT NULL
            THEN 'CASE WHEN ' || clean_text || ' NOT IN (' || null_codes || ') THEN ' || converted_text || ' END'
            WHEN is_converted THEN converted_text
            WHEN has_codes
            THEN 'CASE WHEN ' || CASE WHEN is_text THEN clean_text ELSE quoted_name END || ' NOT IN (' || null_codes
                || ') THEN ' || CASE WHEN is_padded THEN trimmed_text ELSE plain_value END || ' END'
            WHEN is_padded THEN trimmed_text
            WHEN is_integer THEN integer_value
        END AS repaired_value,
        {% if views %}
        CASE WHEN count(*) FILTER (WHERE is_converted OR is_padded OR is_integer) OVER () > 0 THEN {{ views.head }}
            || string_agg(
                CASE WHEN repaired_value IS NOT NULL THEN repaired_value || ' AS ' || quoted_name END, ', '
            ) OVER (ORDER BY place ASC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
            || {{ views.tail }}
        END AS view_statement
        {% else %}
        NULL::VARCHAR AS view_statement
        {% endif %}
    FROM column_problems
),
-- One row per column that has problems by its name and type: these, and the statements that repair them.
named_problems AS MATERIALIZED (
    SELECT
        place, list(problem ORDER BY problem ASC) AS named_problems,
        list(repair ORDER BY problem ASC) AS named_repairs
    FROM ({{ named_problems }})
    GROUP BY place
),
-- One row per column: its problems, and in the same order the statements that repair them.
column_repairs AS MATERIALIZED (
    SELECT
        place, statement, CASE WHEN role <> 'identifier' THEN codes END AS missing_codes,
        list_concat(list_filter([
            CASE
                WHEN is_converted THEN description
                    || CASE
                        WHEN is_ambiguous AND is_order_known
                        THEN '; ' || regexp_replace(choice, 'taken as.*', 'taken as other columns of the table show')
                        WHEN is_ambiguous THEN '; ' || choice
                        ELSE '' END
                    || CASE WHEN hint <> '' THEN '; ' || hint ELSE '' END
                    || CASE
                        WHEN null_codes IS NOT NULL THEN '; NULL in place of codes for missing values: ' || null_codes
                        ELSE '' END
                WHEN has_format
                THEN description || ', but not all: values that are none: ' || n_unreadable || '. Hint: correct them; '
                    || 'SELECT ' || quoted_name || ', count(*) FROM ' || {{ where }}
                    || ' WHERE ' || unreadable_condition || ' GROUP BY ALL lists them.'
            END,
            CASE WHEN has_codes THEN 'codes for missing values: ' || code_list || ' in records: ' || n_coded
                || CASE
                    WHEN role = '{{ withheld }}' AND declaration_end IS NULL AND view_statement IS NULL
                    THEN '; declare them when you say what the column is, missing_codes = [' || code_list || ']'
                    ELSE '' END
            END,
            CASE WHEN is_padded THEN 'blanks around values in records: ' || n_padded END,
            CASE WHEN role = 'person' AND n_similar_ids > 0 THEN
                'ids of persons that differ from another one only by blanks, case or leading zeros, and count as '
                || 'different people: ' || n_similar_ids
            END,
            CASE WHEN is_integer THEN
                'whole numbers of type ' || type || ', as some are missing: they are published as 35.0'
            END
        ], lambda problem: problem IS NOT NULL), named_problems) AS problems,
        list_concat(
            CASE WHEN has_format THEN [
                CASE WHEN is_converted THEN coalesce(
                    view_statement,
                    type_change || new_type || ' USING ' || repaired_value || coalesce(code_removal, '')
                ) END
            ] ELSE [] END,
            CASE WHEN has_codes THEN [
                coalesce(view_statement, declaration_start || code_list || declaration_end, statement)
            ] ELSE [] END,
            CASE WHEN is_padded THEN [coalesce(view_statement, blank_removal)] ELSE [] END,
            CASE WHEN role = 'person' AND n_similar_ids > 0 THEN [NULL] ELSE [] END,
            CASE WHEN is_integer THEN [
                coalesce(view_statement, type_change || 'BIGINT USING ' || integer_value)
            ] ELSE [] END,
            named_repairs
        ) AS repairs
    FROM column_statements
    LEFT JOIN named_problems USING (place)
)
