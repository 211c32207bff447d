{#- The path of related tables, shared by NAME, NAME_classes and NAME_metrics of a call with `entity` or `children`:
    for each table "visits: rows" -> "visits: values" -> persons -> clusters -> "visits: assigned" -> "visits: made" ->
    numbered -> "visits: published rows" -> gate.
    The first of `tables` has one row per person, the others are about these. `clustered`, and `clusters_sql` and
    `measures_sql` of a table, are statements of their own, whose steps are named as in a release of one table. -#}
{%- from 'release/plan/row_identity.sql' import tie with context -%}
{%- from 'release/related/published_values.sql' import byte, marks, row_values with context -%}
WITH
{% for t in tables if not t.source.is_read_twice %}
-- One row per row of the table, which is read only here because a second reading could return other rows.
{{ 'as it came'|of(t) }} AS MATERIALIZED (
    SELECT {{ t.source.columns }}, row_number() OVER () - 1 AS {{ row }} FROM {{ t.source.table }}
),
{% endfor %}
{% for t in tables %}
-- One row per row of the table: its number, and the key of its person.
{{ 'rows'|of(t) }} AS MATERIALIZED (
    SELECT {{ t.source.columns }}, {{ t.key }} AS {{ person }}, {{ t.source.row_number }} AS {{ row }} \
        FROM {{ t.source.origin }}
),
-- One row per row of the table: its quasi-identifiers, its unchanged values, and a hash of them.
{{ 'values'|of(t) }} AS MATERIALIZED (
    SELECT *, md5(row('dbanon 1'{% for q in t.quasi %}, {{ q.column }}{% endfor %}, \
        {{ tie(sql(''), t.unchanged, false) }})::VARCHAR) AS content
    FROM (
        SELECT
            {{ row }} AS number, {{ person }} AS person
            {% for q in t.quasi %}, {{ q.value }} AS {{ q.column }}{% endfor %}
            {% for u in t.unchanged %}, {{ u.value }} AS {{ u.column }}{% endfor %}
        FROM {{ 'rows'|of(t) }}
    )
),
{% endfor %}
-- One row: the first problem of the keys, or NULL. No message quotes a key.
key_problem AS MATERIALIZED (
    SELECT coalesce(
        {% for r in relations %}
        CASE WHEN {{ r.sql }} IS DISTINCT FROM {{ r.then }} THEN {{ r.say }} END,
        {% endfor %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ parent.say.missing }} END FROM {{ 'values'|of(parent) }} \
            WHERE person IS NULL),
        (SELECT CASE WHEN count(*) > 0 THEN {{ parent.say.repeated }} END
            FROM (SELECT person FROM {{ 'values'|of(parent) }} GROUP BY person HAVING count(*) > 1)),
        {% for t in children %}
        (SELECT CASE WHEN count(*) = 0 THEN {{ t.say.empty }} END FROM {{ 'values'|of(t) }}),
        (SELECT CASE WHEN count(*) > 0 THEN {{ t.say.orphans }} END
            FROM {{ 'values'|of(t) }} AS v LEFT JOIN {{ 'values'|of(parent) }} AS p ON p.person = v.person
            WHERE p.number IS NULL),
        {% endfor %}
        NULL
    ) AS message
),
{% for t in children %}
-- One row per person with rows in the table: how many, a hash of all of them, and the least and greatest values, by
-- which people are clustered.
{{ 'summary'|of(t) }} AS MATERIALIZED (
    SELECT
        person, count(*) AS size, md5(string_agg(content, ',' ORDER BY content ASC)) AS content
        {% for f in t.features if f.aggregate %}, \
            {{ f.aggregate }}({{ t.quasi[f.quasi_number].column }}) AS {{ f.column.column }}{% endfor %}
    FROM {{ 'values'|of(t) }}
    GROUP BY person
),
{% endfor %}
-- One row per person, in the order of a hash of all values: the quasi-identifiers, and for each other table the number
-- of rows, their least and greatest values, and their most frequent categories.
persons AS MATERIALIZED (
    SELECT
        p.* EXCLUDE (content)
        {% for t in children %}
        , coalesce({{ 'summary'|of(t) }}.size, 0) AS {{ 'row count'|of(t) }}
        {% for f in t.features %}, {% if f.is_size %}least(coalesce({{ 'summary'|of(t) }}.size, 0), \
            {{ cap }})::INTEGER{% elif f.aggregate %}{{ 'summary'|of(t) }}.{{ f.column.column }}\
            {% else %}{{ 'mode'|of(f.column) }}.value{% endif %} AS {{ f.column.column }}{% endfor %}
        {% endfor %}
        , row_number() OVER (ORDER BY md5(row(p.content{% for t in children %}, {{ 'summary'|of(t) }}.content{% \
            endfor %})::VARCHAR) ASC) - 1 AS rowid
    FROM {{ 'values'|of(parent) }} AS p
    {% for t in children %}
    LEFT JOIN {{ 'summary'|of(t) }} ON {{ 'summary'|of(t) }}.person = p.person
    {% for f in t.features if f.is_most_frequent %}
    LEFT JOIN (
        SELECT person, {{ t.quasi[f.quasi_number].column }} AS value
        FROM {{ 'values'|of(t) }}
        WHERE {{ t.quasi[f.quasi_number].column }} IS NOT NULL
        GROUP BY person, {{ t.quasi[f.quasi_number].column }}
        QUALIFY row_number() OVER (PARTITION BY person ORDER BY count(*) DESC, \
            {{ t.quasi[f.quasi_number].column }} ASC) = 1
    ) AS {{ 'mode'|of(f.column) }} ON {{ 'mode'|of(f.column) }}.person = p.person
    {% endfor %}
    {% endfor %}
    WHERE (SELECT CASE WHEN message IS NULL THEN true ELSE error(message) END FROM key_problem)
),
{% for t in children %}
-- One row per row of the table: its position among the rows of its person, which are sorted by their values.
{{ 'ranked'|of(t) }} AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY person \
        ORDER BY {% for q in t.sort_columns %}{{ q.column }} ASC NULLS LAST, {% endfor %}content ASC, \
        number ASC) AS place
    FROM {{ 'values'|of(t) }}
),
{% endfor %}
{% if l %}
-- One row per sensitive value (of column number `holding`) of a row: its person, and the position of the row.
held AS MATERIALIZED (
    {% for h in holdings %}
    {% if not loop.first %}UNION ALL{% endif %}
    SELECT p.rowid AS rid, {{ loop.index0 }} AS holding, {% if h.table.i %}r.place{% else %}1{% endif %} AS place, \
        dense_rank() OVER (ORDER BY {{ byte(sql('r.', h.column)) }} ASC) - 1 AS value
    FROM {{ ('ranked' if h.table.i else 'values')|of(h.table) }} AS r
    JOIN persons AS p ON p.person = r.person
    WHERE r.{{ h.column }} IS NOT NULL{% if h.table.i %} AND r.place <= {{ cap }}{% endif +%}
    {% endfor %}
),
{% endif %}
-- One row per person: the cluster.
clusters AS MATERIALIZED (
{{ clustered }}
),
-- One row per person: the key, the cluster, and the number of rows in each table.
cluster_members AS MATERIALIZED (
    SELECT p.person, p.number, c.cluster::BIGINT AS cluster{% for t in children %}, \
        p.{{ 'row count'|of(t) }}{% endfor +%}
    FROM persons AS p
    JOIN clusters AS c ON c.rid = p.rowid
),
{% for t in tables %}
{% if loop.first %}
-- One row per row of the table: the cluster of its person.
{{ 'assigned'|of(t) }} AS MATERIALIZED (SELECT number, cluster FROM cluster_members),
{% else %}
-- One row per published row of the table: its cluster. Rows in the same position are published together if every person
-- of the cluster has a row in this position, up to max_children rows.
{{ 'assigned'|of(t) }} AS MATERIALIZED (
    SELECT number, cluster * {{ cap }} + place - 1 AS cluster
    FROM (
        SELECT v.number, v.place, m.cluster, s.size
        FROM {{ 'ranked'|of(t) }} AS v
        JOIN cluster_members AS m ON m.person = v.person
        JOIN (SELECT cluster, least(min({{ 'row count'|of(t) }}), {{ cap }}) AS size FROM cluster_members \
            GROUP BY cluster) AS s ON s.cluster = m.cluster
    )
    WHERE place <= size
),
{% endif %}
-- One row per published row of the table: its number and its published values.
{{ 'made'|of(t) }} AS MATERIALIZED (
{{ t.clusters_sql }}
),
{% endfor %}
-- One row per person: the published values in all tables, of the quasi-identifiers (seen) and of all columns.
published_classes AS MATERIALIZED (
    SELECT
        m.person, {{ marks(parent, sql('r.')) }} AS {{ 'seen'|of(parent) }}, \
        {{ row_values(parent, sql('r.')) }} AS {{ 'row values'|of(parent) }}
        {% for t in children %}, coalesce({{ 'published'|of(t) }}.seen, []) AS {{ 'seen'|of(t) }}, \
            coalesce({{ 'published'|of(t) }}.row_values, []) AS {{ 'row values'|of(t) }}{% endfor +%}
    FROM cluster_members AS m
    JOIN {{ 'made'|of(parent) }} AS r ON r.number = m.number
    {% for t in children %}
    LEFT JOIN (
        SELECT v.person, list({{ marks(t, sql('r.')) }} ORDER BY {{ marks(t, sql('r.')) }} ASC) AS seen, \
            list({{ row_values(t, sql('r.')) }} ORDER BY {{ row_values(t, sql('r.')) }} ASC) AS row_values
        FROM {{ 'made'|of(t) }} AS r
        JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number
        GROUP BY v.person
    ) AS {{ 'published'|of(t) }} ON {{ 'published'|of(t) }}.person = m.person
    {% endfor %}
),
-- One row per person: the class, and the pseudonym, a number that depends only on published values.
numbered AS MATERIALIZED (
    SELECT
        person,
        dense_rank() OVER (ORDER BY {% for t in tables %}{% if not loop.first %}, {% endif %}{{ 'seen'|of(t) }} \
            ASC{% endfor %}) AS class_id,
        row_number() OVER (ORDER BY {% for t in tables %}{{ 'seen'|of(t) }} ASC, {% endfor %}{% for t in tables %}\
            {% if not loop.first %}, {% endif %}{{ 'row values'|of(t) }} ASC{% endfor %}) AS pseudonym
    FROM published_classes
),
{% for t in tables %}
-- One row per published row of the table: the number of its row in the table, and its position in the order.
{{ 'published rows'|of(t) }} AS MATERIALIZED (
    SELECT
        n.pseudonym AS {{ t.names.key }},
        {% for c in t.output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
        n.class_id AS {{ t.names.class_id }},
        r.number AS {{ row }},
        row_number() OVER (ORDER BY n.pseudonym ASC, {{ marks(t, sql('r.')) }} ASC, \
            {{ row_values(t, sql('r.')) }} ASC) AS {{ place }}
    FROM {{ 'made'|of(t) }} AS r
    JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number
    JOIN numbered AS n ON n.person = v.person
),
{% endfor %}
{% include 'gate/related_gate.sql' %}
