{#- What arrived of the source of a stream: source, tuples, encoded, grouped -> arrived. -#}
{%- from 'release/plan/row_identity.sql' import same_group, same_tuple with context -%}
-- One row per record: its group of records with equal codes, sensitive values and person.
arrivals AS MATERIALIZED (
    SELECT s.rid, g.gid
    FROM source AS s
    JOIN tuples AS t ON {{ same_tuple() }}
    JOIN encoded_tuples AS e ON e.tid = t.tid
    JOIN code_groups AS g ON {{ same_group() }}
),
