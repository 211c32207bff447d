{#- One encoding of the source, as a table or as a stream (`order`), and the metrics of all runs on it. -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/domains.sql' import domains, group, ends_of with context -%}
{%- from 'release/streams/request.sql' import asked with context -%}
(
{% include 'release/plan/encoded.sql' %}
-- One row: the metrics of all runs, as the Python function returns them.
answers AS MATERIALIZED (
    SELECT {% if order %}dbanon_compare_streams{% else %}dbanon_compare{% endif %}(
        {{ asked(runs) }},
        (SELECT list({{ group() }}) FROM code_groups)
        {% if order %}
        , (SELECT list(struct_pack(rid := rid, gid := gid)) FROM {{ record_groups() }})
        {% endif %}
        {{ domains() }}
        {% for q in quasi if q.is_number %}
        , (SELECT {{ ends_of(q) }})
        {% endfor %}
        , (SELECT coalesce(sum(size), 0)::BIGINT FROM source)
    ) AS answers
    {% if trees %}FROM trees{% endif +%}
)
SELECT {{ quasi|length }} AS n_quasi_identifiers, *
FROM (
    SELECT unnest(CASE WHEN (answers).error IS NULL THEN (answers).rows ELSE error((answers).error) END, max_depth := 2)
    FROM answers
)
)
