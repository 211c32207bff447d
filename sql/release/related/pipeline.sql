{#- The path of related tables, shared by NAME, NAME_classes and NAME_metrics of a call with `entity` or `children`:
    rows -> values -> persons -> clusters -> assigned -> made -> numbered -> leaving -> gate.
    The first of `tables` has one row per person, the others are about these. `clustered`, and `clusters_sql` and
    `measures_sql` of a table, are statements of their own, whose steps are named as in a release of one table. -#}
{%- from 'release/plan/row_identity.sql' import tie with context -%}
{%- from 'release/related/published_values.sql' import byte, marks, told with context -%}
WITH
{% for t in tables if not t.source.is_read_twice %}
-- The rows as they came: what cannot be read twice alike is read here and never again.
{{ 'as it came'|of(t) }} AS MATERIALIZED (
    SELECT {{ t.source.columns }}, row_number() OVER () - 1 AS {{ row }} FROM {{ t.source.table }}
),
{% endfor %}
{% for t in tables %}
-- The table, read once: a row a row of it, its number, and the key of the person that it is about.
{{ 'rows'|of(t) }} AS MATERIALIZED (
    SELECT {{ t.source.columns }}, {{ t.key }} AS {{ person }}, {{ t.source.row_number }} AS {{ row }} FROM {{ t.source.origin }}
),
-- The same as values: quasi-identifiers (q), what is published unchanged (u), and a hash of all of it.
{{ 'values'|of(t) }} AS MATERIALIZED (
    SELECT *, md5(row('dbanon 1'{% for q in t.quasi %}, {{ q.column }}{% endfor %}, {{ tie(sql(''), t.unchanged, false) }})::VARCHAR) AS content
    FROM (
        SELECT
            {{ row }} AS number, {{ person }} AS person
            {% for q in t.quasi %}, {{ q.value }} AS {{ q.column }}{% endfor %}
            {% for u in t.unchanged %}, {{ u.value }} AS {{ u.column }}{% endfor %}
        FROM {{ 'rows'|of(t) }}
    )
),
{% endfor %}
-- One row: the first reason to refuse the keys, or NULL. Nothing here quotes a key.
key_problem AS MATERIALIZED (
    SELECT coalesce(
        {% for r in relations %}
        CASE WHEN {{ r.sql }} IS DISTINCT FROM {{ r.then }} THEN {{ r.say }} END,
        {% endfor %}
        (SELECT CASE WHEN count(*) > 0 THEN {{ parent.say.missing }} END FROM {{ 'values'|of(parent) }} WHERE person IS NULL),
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
-- A row a person who has rows in the table: how many, a hash of all of them, and the least and greatest values, by which
-- people are clustered.
{{ 'summary'|of(t) }} AS MATERIALIZED (
    SELECT
        person, count(*) AS size, md5(string_agg(content, ',' ORDER BY content ASC)) AS content
        {% for f in t.features if f.aggregate %}, {{ f.aggregate }}({{ t.quasi[f.quasi_number].column }}) AS {{ f.column.column }}{% endfor %}
    FROM {{ 'values'|of(t) }}
    GROUP BY person
),
{% endfor %}
-- A row a person, in the order of a hash of all that is read of them: the quasi-identifiers, and what rows of the other
-- tables add to these for the clustering: how many there are, their ends, and the categories that most of them have.
persons AS MATERIALIZED (
    SELECT
        p.* EXCLUDE (content)
        {% for t in children %}
        , coalesce({{ 'summary'|of(t) }}.size, 0) AS {{ 'row count'|of(t) }}
        {% for f in t.features %}, {% if f.is_size %}least(coalesce({{ 'summary'|of(t) }}.size, 0), {{ cap }})::INTEGER{% elif f.aggregate %}{{ 'summary'|of(t) }}.{{ f.column.column }}{% else %}{{ 'mode'|of(f.column) }}.value{% endif %} AS {{ f.column.column }}{% endfor %}
        {% endfor %}
        , row_number() OVER (ORDER BY md5(row(p.content{% for t in children %}, {{ 'summary'|of(t) }}.content{% endfor %})::VARCHAR) ASC) - 1 AS rowid
    FROM {{ 'values'|of(parent) }} AS p
    {% for t in children %}
    LEFT JOIN {{ 'summary'|of(t) }} ON {{ 'summary'|of(t) }}.person = p.person
    {% for f in t.features if f.is_most_frequent %}
    LEFT JOIN (
        SELECT person, {{ t.quasi[f.quasi_number].column }} AS value
        FROM {{ 'values'|of(t) }}
        WHERE {{ t.quasi[f.quasi_number].column }} IS NOT NULL
        GROUP BY person, {{ t.quasi[f.quasi_number].column }}
        QUALIFY row_number() OVER (PARTITION BY person ORDER BY count(*) DESC, {{ t.quasi[f.quasi_number].column }} ASC) = 1
    ) AS {{ 'mode'|of(f.column) }} ON {{ 'mode'|of(f.column) }}.person = p.person
    {% endfor %}
    {% endfor %}
    WHERE (SELECT CASE WHEN message IS NULL THEN true ELSE error(message) END FROM key_problem)
),
{% for t in children %}
-- A row a row of the table: its place among those of the person, which are sorted by their values.
{{ 'ranked'|of(t) }} AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY person ORDER BY {% for q in t.sort_columns %}{{ q.column }} ASC NULLS LAST, {% endfor %}content ASC, number ASC) AS place
    FROM {{ 'values'|of(t) }}
),
{% endfor %}
{% if l %}
-- A row a sensitive value (of the column with the number holding) of a row about a person, with the place of the row.
held AS MATERIALIZED (
    {% for h in holdings %}
    {% if not loop.first %}UNION ALL{% endif %}
    SELECT p.rowid AS rid, {{ loop.index0 }} AS holding, {% if h.table.i %}r.place{% else %}1{% endif %} AS place, dense_rank() OVER (ORDER BY {{ byte(sql('r.', h.column)) }} ASC) - 1 AS value
    FROM {{ ('ranked' if h.table.i else 'values')|of(h.table) }} AS r
    JOIN persons AS p ON p.person = r.person
    WHERE r.{{ h.column }} IS NOT NULL{% if h.table.i %} AND r.place <= {{ cap }}{% endif +%}
    {% endfor %}
),
{% endif %}
-- A row a person, by number: the cluster.
clusters AS MATERIALIZED (
{{ clustered }}
),
-- A row a person: whose key it is, the cluster, and how many rows the person has in each table.
cluster_members AS MATERIALIZED (
    SELECT p.person, p.number, c.cluster::BIGINT AS cluster{% for t in children %}, p.{{ 'row count'|of(t) }}{% endfor +%}
    FROM persons AS p
    JOIN clusters AS c ON c.rid = p.rowid
),
{% for t in tables %}
{% if loop.first %}
-- A row a row of the table: its cluster, that of the person.
{{ 'assigned'|of(t) }} AS MATERIALIZED (SELECT number, cluster FROM cluster_members),
{% else %}
-- A row a row of the table that is published: its cluster. Rows in the same place are published together, as far as
-- everybody of the cluster has a row there, and not beyond the cap.
{{ 'assigned'|of(t) }} AS MATERIALIZED (
    SELECT number, cluster * {{ cap }} + place - 1 AS cluster
    FROM (
        SELECT v.number, v.place, m.cluster, s.size
        FROM {{ 'ranked'|of(t) }} AS v
        JOIN cluster_members AS m ON m.person = v.person
        JOIN (SELECT cluster, least(min({{ 'row count'|of(t) }}), {{ cap }}) AS size FROM cluster_members GROUP BY cluster) AS s ON s.cluster = m.cluster
    )
    WHERE place <= size
),
{% endif %}
-- A row a row of the table that is published: what it publishes, by its number.
{{ 'made'|of(t) }} AS MATERIALIZED (
{{ t.clusters_sql }}
),
{% endfor %}
-- A row a person: what is published of the person in all tables, of quasi-identifiers (seen) and of everything (told).
published_classes AS MATERIALIZED (
    SELECT
        m.person, {{ marks(parent, sql('r.')) }} AS {{ 'seen'|of(parent) }}, {{ told(parent, sql('r.')) }} AS {{ 'told'|of(parent) }}
        {% for t in children %}, coalesce({{ 'published'|of(t) }}.seen, []) AS {{ 'seen'|of(t) }}, coalesce({{ 'published'|of(t) }}.told, []) AS {{ 'told'|of(t) }}{% endfor +%}
    FROM cluster_members AS m
    JOIN {{ 'made'|of(parent) }} AS r ON r.number = m.number
    {% for t in children %}
    LEFT JOIN (
        SELECT v.person, list({{ marks(t, sql('r.')) }} ORDER BY {{ marks(t, sql('r.')) }} ASC) AS seen, list({{ told(t, sql('r.')) }} ORDER BY {{ told(t, sql('r.')) }} ASC) AS told
        FROM {{ 'made'|of(t) }} AS r
        JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number
        GROUP BY v.person
    ) AS {{ 'published'|of(t) }} ON {{ 'published'|of(t) }}.person = m.person
    {% endfor %}
),
-- A row a person: the class, and the pseudonym, a number that follows from what is published of the person alone.
numbered AS MATERIALIZED (
    SELECT
        person,
        dense_rank() OVER (ORDER BY {% for t in tables %}{% if not loop.first %}, {% endif %}{{ 'seen'|of(t) }} ASC{% endfor %}) AS class_id,
        row_number() OVER (ORDER BY {% for t in tables %}{{ 'seen'|of(t) }} ASC, {% endfor %}{% for t in tables %}{% if not loop.first %}, {% endif %}{{ 'told'|of(t) }} ASC{% endfor %}) AS pseudonym
    FROM published_classes
),
{% for t in tables %}
-- The rows as they leave, with the number of the row that each stands for and its place in the order.
{{ 'published rows'|of(t) }} AS MATERIALIZED (
    SELECT
        n.pseudonym AS {{ t.names.key }},
        {% for c in t.output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
        n.class_id AS {{ t.names.class_id }},
        r.number AS {{ row }},
        row_number() OVER (ORDER BY n.pseudonym ASC, {{ marks(t, sql('r.')) }} ASC, {{ told(t, sql('r.')) }} ASC) AS {{ place }}
    FROM {{ 'made'|of(t) }} AS r
    JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number
    JOIN numbered AS n ON n.person = v.person
),
{% endfor %}
{% include 'gate/related_gate.sql' %}
