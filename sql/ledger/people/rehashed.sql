{#- The hashes of format 1 of the records that a version and its source have in common, with those of the present
    format. -#}
{%- import 'release/plan/row_identity_format_1.sql' as format_1 with context -%}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash, cells, quasi_cells, person_key with context -%}
WITH
{% include 'release/plan/source.sql' %}
SELECT DISTINCT
    {{ format_1.row_hash(sql('')) }} AS old_row_hash,
    {{ format_1.person_key(sql('')) }} AS old_person_key,
    {{ row_hash(sql('')) }} AS row_hash,
    {{ person_key(sql('')) }} AS person_key,
    {{ value_hash(sql(''), false) }} AS value_hash,
    {{ cells(sql(''), false) }} AS cells,
    {{ quasi_cells(sql('')) }} AS quasi_cells
FROM source
