{#- Records of the source that are withheld since an erasure, for the membership. They are in no class, so that they
    neither count as new nor are published while a reader may have a version with them. -#}
{%- from 'release/plan/row_identity.sql' import value_hash, cells, quasi_cells with context -%}
{% set held = true %}
SELECT
    person_key, NULL::BIGINT AS class_id, NULL::BIGINT AS cluster_id, row_hash,
    {{ value_hash(sql(''), false) }} AS value_hash,
    {{ cells(sql(''), false) }} AS cells,
    {{ quasi_cells(sql('')) }} AS quasi_cells,
    NULL::UBIGINT AS label_hash,
    count(*)::BIGINT AS records, true AS held
FROM {% include 'release/plan/withheld_records.sql' %} AS withheld_records
GROUP BY ALL
