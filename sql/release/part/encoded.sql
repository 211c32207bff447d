{#- From the source to codes: source -> kept -> encoded -> grouped. Up to encoded there is a row a record; grouped counts
    the records that are alike. -#}
{%- from 'release/part/cardinality_hint.sql' import few, end_few -%}
{%- from 'release/part/number.sql' import gap, coded with context -%}
{%- from 'release/part/tree.sql' import tree with context -%}
WITH RECURSIVE
{% include 'release/part/source.sql' %},
-- The records to cluster, a row a record: without those with a NULL, where nulls = 'drop'.
kept AS (
    SELECT * FROM source
    {% if nulls == 'drop' %}
    WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}q{{ q.i }} IS NOT NULL{% endfor %}
    {% endif %}
),
{% for q in quasi %}
{% if q.is_number %}
-- A row a value, after top and bottom coding: its code, which is its rank, and its distance from the least value.
{{ 'domain'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    SELECT
        value,
        (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code,
        {{ gap(q, sql('value'), sql('least_value')) }} AS position
    FROM (
        SELECT value, min(value) OVER () AS least_value
        FROM (SELECT DISTINCT {{ coded(q, sql('q', q.i)) }} AS value FROM kept WHERE q{{ q.i }} IS NOT NULL{{ q.is_finite }})
    )
    {{ end_few() }}
),
{% else %}
{{ tree(q) }}
{% endif %}
{% endfor %}
{# Sensitive values that models are about or that the algorithm reads, in their order. #}
{% for s in tested %}
{% if s.tree %}
{{ tree(s.tree) }}
{% endif %}
-- A row a value of the sensitive column: its code, in the order of the values or of the leaves of their tree.
{{ 'sensitive codes'|of(s) }} AS MATERIALIZED (
    {{ few() }}
    {% if s.tree %}
    SELECT DISTINCT k.u{{ s.u }} AS value, d.code{% if s.number %}, {{ gap(s.number, sql('k.u', s.u), sql('l.value')) }} AS position{% endif %}
    FROM kept AS k JOIN {{ 'domain'|of(s.tree) }} AS d ON d.value = k.q{{ s.tree.i }}
    {% if s.number %}CROSS JOIN (SELECT min(u{{ s.u }}) AS value FROM kept) AS l{% endif %}
    {% else %}
    SELECT value, (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code{% if s.number %}, {{ gap(s.number, sql('value'), sql('least_value')) }} AS position{% endif %}
    FROM (
        SELECT value{% if s.number %}, min(value) OVER () AS least_value{% endif %}
        FROM (SELECT DISTINCT u{{ s.u }} AS value FROM kept WHERE u{{ s.u }} IS NOT NULL)
    )
    {% endif %}
    {{ end_few() }}
),
{% endfor %}
{% include 'release/part/problem.sql' %}
{# What orders records of equal codes: a hash of all else that is published, once for each distinct combination where
    equality of the types is equality of their text. It is versioned: DuckDB's own hash may
    change, and is used only where neither text nor order tells unequal values apart, as members of a UNION. #}
{% macro tie(from) -%}
    md5_number_lower(row('dbanon 1'{% for u in unchanged %}, {% if u.is_zoned %}epoch_us({{ from }}u{{ u.i }}){% else %}{{ from }}u{{ u.i }}{% endif %}{% if u.is_tagged %}, hash({{ from }}u{{ u.i }}){% endif %}{% endfor %}{% if person %}, {{ from }}person{% endif %})::VARCHAR)
{%- endmacro %}
{% if tie_by == 'value' %}
-- A row a combination of what is published unchanged: the hash that orders records of equal codes.
ties AS MATERIALIZED (
    SELECT *, {{ tie(sql('')) }} AS tie
    FROM (SELECT DISTINCT {% for u in unchanged %}{% if not loop.first %}, {% endif %}u{{ u.i }}{% endfor %} FROM kept)
),
{% endif %}
-- A row a record: the codes of its quasi-identifiers (c) and sensitive values (s), and the hash that breaks ties.
encoded AS MATERIALIZED (
    SELECT
        s.rid, {% if tie_by == 'value' %}h.tie{% elif tie_by == 'row' %}{{ tie(sql('s.')) }} AS tie{% else %}0::UBIGINT AS tie{% endif %}
        {% for q in quasi %}, d{{ q.i }}.code AS c{{ q.i }}{% endfor %}
        {% for s in tested %}, f{{ s.i }}.code AS s{{ s.i }}{% endfor %}
        {% if person %}, CASE WHEN s.person IS NOT NULL THEN md5_number_lower(s.person::VARCHAR) END AS person{% endif %}
    FROM kept AS s
    {% for q in quasi %}
    LEFT JOIN {{ 'domain'|of(q) }} AS d{{ q.i }} ON d{{ q.i }}.value = {% if q.is_number %}{{ coded(q, sql('s.q', q.i)) }}{% else %}s.q{{ q.i }}{% endif %}
    {% endfor %}
    {% for t in tested %}
    LEFT JOIN {{ 'sensitive codes'|of(t) }} AS f{{ t.i }} ON f{{ t.i }}.value = s.u{{ t.u }}
    {% endfor %}
    {% if tie_by == 'value' %}
    JOIN ties AS h ON {% for u in unchanged %}{% if not loop.first %} AND {% endif %}h.u{{ u.i }} IS NOT DISTINCT FROM s.u{{ u.i }}{% endfor %}
    {% endif %}
),
-- A row a group of records that nothing published tells apart: how many they are.
grouped AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS gid, *
    FROM (
        SELECT tie{% for q in quasi %}, c{{ q.i }}{% endfor %}{% for s in tested %}, s{{ s.i }}{% endfor %}{% if person %}, person{% endif %}, count(*)::INTEGER AS size
        FROM encoded
        GROUP BY ALL
    )
),
