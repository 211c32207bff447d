{#- What arrived of the source of a stream: source, tuples, encoded, grouped -> arrived. -#}
{%- from 'release/plan/row_identity.sql' import same_group, same_tuple with context -%}
-- A row a record: the group of those that codes, sensitive values and person do not tell apart.
arrivals AS MATERIALIZED (
    SELECT s.rid, g.gid
    FROM source AS s
    JOIN tuples AS t ON {{ same_tuple() }}
    JOIN encoded_tuples AS e ON e.tid = t.tid
    JOIN code_groups AS g ON {{ same_group() }}
),
