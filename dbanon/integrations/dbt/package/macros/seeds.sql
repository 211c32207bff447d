{#- Policy and hierarchies from seeds, as post-hooks: what a seed says about a table or a hierarchy is all there is. -#}

{% macro store_policy(seed) %}
  {%- set names = adapter.get_columns_in_relation(seed) | map(attribute='name') | map('lower') | list -%}
  {%- set policy = adapter.quote(seed.database | replace('"', '""')) ~ '.dbanon.policy' -%}
  {%- set schema = dbanon.text(seed.schema) -%}
  {%- set rows -%}
    (SELECT * EXCLUDE ({{ (['table_name'] + (['schema_name'] if 'schema_name' in names else []) + (['weight'] if 'weight' in names else [])) | join(', ') }}),
      table_name,
      {{ 'coalesce(schema_name::VARCHAR, ' ~ schema ~ ')' if 'schema_name' in names else schema }} AS schema_name
      {%- if 'weight' in names %}, coalesce(weight::DOUBLE, 1) AS weight{% endif %}
    FROM {{ seed }})
  {%- endset -%}
  DELETE FROM {{ policy }} AS p
  WHERE EXISTS (
    FROM {{ rows }} AS s
    WHERE lower(s.schema_name) = lower(p.schema_name) AND lower(s.table_name) = lower(p.table_name)
  );
  INSERT INTO {{ policy }} BY NAME FROM {{ rows }} AS s
{% endmacro %}


{% macro store_hierarchies(seed) %}
  {%- set hierarchy = adapter.quote(seed.database | replace('"', '""')) ~ '.dbanon.hierarchy' -%}
  DELETE FROM {{ hierarchy }} WHERE name IN (SELECT s.name FROM {{ seed }} AS s);
  INSERT INTO {{ hierarchy }} BY NAME FROM {{ seed }} AS s
{% endmacro %}
