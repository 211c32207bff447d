{#- A release with its ledger: made by the first run, refreshed by every later one. -#}

{% materialization anonymized, adapter='duckdb', supported_languages=['sql'] %}
  {%- if flags.EMPTY -%}
    {% do exceptions.raise_compiler_error('a release is not made of no rows: leave this model out with --exclude config.materialized:anonymized, or run without --empty') %}
  {%- endif -%}
  {%- if config.get('indexes') -%}
    {% do exceptions.raise_compiler_error('a release has no indexes: the next version could not take its place') %}
  {%- endif -%}
  {%- set target_relation = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {#- The release is made in a transaction of its own, which sees what is committed. -#}
  {% do adapter.commit() %}

  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
    {% do adapter.commit() %}
  {%- endif -%}

  {%- set asked = {'query': sql, 'config': model.config, 'full_refresh': should_full_refresh()} -%}
  {% do adapter.store_relation(dbanon.plugin_name(), target_relation, [], '', 'anonymized', asked) %}
  {%- set made = run_query(dbanon.version_published(target_relation)).rows[0] -%}

  {% call noop_statement('main', 'version ' ~ made['version'] ~ ', ' ~ made['records'] ~ ' records', 'OK', made['records']) %}
    {{ sql }}
  {% endcall %}

  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {%- set name = target_relation.identifier -%}
  {{ return({'relations': [
    target_relation,
    target_relation.incorporate(path={'identifier': name ~ '_classes'}),
    target_relation.incorporate(path={'identifier': name ~ '_metrics'}),
  ]}) }}
{% endmaterialization %}


{#- The name under which the profile has the plugin. -#}
{% macro plugin_name() %}
  {%- for plugin in adapter.config.credentials.plugins or [] if plugin.module == 'dbanon.dbt' -%}
    {{ return(plugin.alias or 'dbt') }}
  {%- endfor -%}
  {% do exceptions.raise_compiler_error('the profile has no plugin dbanon.dbt. Add to the output in profiles.yml: plugins: [{module: dbanon.dbt}]') %}
{% endmacro %}


{#- The query for version and records of the release that a relation is. -#}
{% macro version_published(relation) %}
  {%- set ledger = adapter.quote(relation.database | replace('"', '""')) ~ '.dbanon.release' -%}
  SELECT version, records FROM {{ ledger }}
  WHERE schema_name = {{ dbanon.text(relation.schema) }}
    AND lower(name) = lower({{ dbanon.text(relation.identifier) }})
    AND status = 'published'
{% endmacro %}
