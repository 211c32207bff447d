{#- Whether a published text can represent a value, also as a node of a stored hierarchy: the value is a leaf, and the
    text is one of the names of a node above it: its label, or its path if several nodes have the label. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'table_functions/covering.sql' import covering -%}
{% set leaf %}({{ form.label_of(sql('value')) }}){% endset %}
{#- Whether a number or a truth value is a leaf that is written in another way: 35.0 and 35, true and True. -#}
{% macro same_number() -%}
regexp_matches(typeof(value), '^(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$') AND (
                    lower(dbanon_leaf) = {{ leaf }}
                    OR TRY_CAST(dbanon_leaf AS DECIMAL(38, 12)) = TRY_CAST({{ leaf }} AS DECIMAL(38, 12))
                )
{%- endmacro %}
CASE
    WHEN published IS NULL OR value IS NULL OR hierarchy IS NULL THEN NULL
    WHEN {{ covering() }} THEN true
    ELSE coalesce(list_contains(
        {# Names that no argument uses, because the arguments are inserted unchanged. #}
        (
            SELECT CASE
                WHEN count(*) = 0 THEN error({{ unknown }})
                ELSE flatten(list(dbanon_names) FILTER (WHERE dbanon_leaf = {{ leaf }} COLLATE POSIX \
                    OR {{ same_number() }}))
            END
            FROM (
                SELECT
                    name COLLATE POSIX AS dbanon_name, leaf COLLATE POSIX AS dbanon_leaf,
                    list_concat(path, list_transform(
                        range(1, len(path)), lambda n: array_to_string(list_reverse(path[n:len(path) - 1]), ' > ')
                    )) AS dbanon_names
                FROM dbanon.hierarchy_path
            )
            WHERE dbanon_name = CAST(hierarchy AS VARCHAR)
        ),
        CAST(published AS VARCHAR)
    ), false)
END
