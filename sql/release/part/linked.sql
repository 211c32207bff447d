{#- What pseudonyms tell: which rows belong together. A part of the gate, from the rows that leave. What an attacker sees
    of a person is not a row but all rows with one pseudonym, so persons are told apart by the classes that their rows are
    in, and how often (a trail), and the model holds for the persons of each trail: in each class, and over all of their
    rows. Pseudonyms of several columns link rows to rows of rows: then persons are told apart by all that hangs together,
    and by their place in it (dbanon_together). -#}
{% macro each(before=sql('')) -%}
    {% for l in links %}{% if not loop.first %}, {% endif %}{{ before }}u{{ l.i }}{% endfor %}
{%- endmacro %}
{# Whether a record has a pseudonym; whether two relations are about the same ones. #}
{% macro has(of=sql('')) -%}
    {% for l in links %}{% if not loop.first %} OR {% endif %}{{ of }}u{{ l.i }} IS NOT NULL{% endfor %}
{%- endmacro %}
{% macro same(one, other) -%}
    {% for l in links %}{% if not loop.first %} AND {% endif %}{{ other }}.u{{ l.i }} IS NOT DISTINCT FROM {{ one }}.u{{ l.i }}{% endfor %}
{%- endmacro %}
{% set rare = unchanged|selectattr('check_rare')|list %}
{#- What each of the rows of a query (label, size, links) is a part of: a row a row and a part. -#}
{% macro parts(seen) %}
    SELECT row.*, unnest(parts) AS part
    FROM (
        SELECT unnest(rows) AS row, unnest(dbanon_together(list_transform(rows, lambda r: {'label': r.label, 'size': r.size, 'links': [{% for l in links %}r.u{{ l.i }}{% if not loop.last %}, {% endif %}{% endfor %}]}))) AS parts
        FROM (SELECT list(seen ORDER BY seen ASC) AS rows FROM ({{ seen }}) AS seen)
    )
{% endmacro %}
{% if links|length == 1 %}
-- A row a pseudonym that leaves: a number for what its rows are in, class by class.
trail AS MATERIALIZED (
    SELECT link, dense_rank() OVER (ORDER BY seen ASC) AS trail
    FROM (
        SELECT link, list(row(class_id, size) ORDER BY class_id ASC) AS seen
        FROM (SELECT {{ each() }} AS link, class_id, sum(size) AS size FROM released WHERE {{ has() }} GROUP BY ALL)
        GROUP BY link
    )
),
-- A row a record with a pseudonym and a way to look at it: in its class, or beside all of the person (class -2).
followed AS MATERIALIZED (
    SELECT CASE WHEN w.whole THEN -2 ELSE l.class_id END AS class_id, t.trail, s.*
    FROM source AS s
    JOIN placed AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif +%}
    JOIN trail AS t ON t.link = {{ each(sql('s.')) }}
    CROSS JOIN (SELECT unnest([false, true]) AS whole) AS w
),
{% else %}
-- A row a combination of pseudonyms and a class, and a part of what hangs together with it, numbered alike where readers
-- cannot tell parts apart: the row, each pseudonym, all of it.
trail AS MATERIALIZED (
    {%- set seen %}SELECT {{ each() }}, class_id::VARCHAR AS label, sum(size)::BIGINT AS size FROM released WHERE {{ has() }} GROUP BY ALL{% endset %}
    {{ parts(seen) }}
),
-- A row a record with a pseudonym and a way to look at it: beside what is a part as it is (as if it were a class).
followed AS MATERIALIZED (
    SELECT t.part AS class_id, 0 AS trail, s.*
    FROM source AS s
    JOIN placed AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif +%}
    JOIN trail AS t ON t.label = l.class_id::VARCHAR AND {{ same(sql('s'), sql('t')) }}

),
{% endif %}
-- One row: how many persons are alone: in a way to look at them that fewer than k share. What is about nobody known
-- counts as one person each. Records without a pseudonym are linked to nothing, and stand out in their class where they
-- are few.
alone AS MATERIALIZED (
    SELECT coalesce(sum(persons), 0) AS persons
    FROM (
        SELECT count(DISTINCT f.person) + count(DISTINCT row(f.class_id, f.trail)) FILTER (WHERE f.person IS NULL) AS persons
        FROM followed AS f
        JOIN (SELECT class_id, trail FROM followed GROUP BY ALL HAVING count(DISTINCT person) < {{ k }}) AS g USING (class_id, trail)
        UNION ALL
        SELECT sum(size) FROM released WHERE NOT ({{ has() }}) GROUP BY class_id HAVING sum(size) < {{ k }}
    )
),
{% if rare %}
-- A row a record with a pseudonym: its values that are published as they are, among those of all that is linked to it.
worn AS MATERIALIZED (
    {% set own %}row({% for u in rare %}s.u{{ u.i }}, {% endfor %}0)::VARCHAR COLLATE POSIX{% endset %}
    SELECT s.person, {% if links|length == 1 %}row(v.lines, {{ own }}){% else %}v.part{% endif %} AS part
    FROM source AS s
    JOIN (SELECT DISTINCT rid FROM placed{% if suppress %} WHERE class_id <> -1{% endif %}) AS l ON l.rid = s.rid
    {% if links|length == 1 %}
    JOIN (
        SELECT link, list(line ORDER BY line COLLATE POSIX ASC) AS lines
        FROM (
            SELECT link, row({% for u in rare %}u{{ u.i }}, {% endfor %}size)::VARCHAR AS line
            FROM (SELECT {{ each() }} AS link{% for u in rare %}, u{{ u.i }}{% endfor %}, sum(size) AS size FROM released WHERE {{ has() }} GROUP BY ALL)
        )
        GROUP BY link
    ) AS v ON v.link = {{ each(sql('s.')) }}
    {% else %}
    JOIN (
        {%- set seen %}SELECT {{ each() }}, row({% for u in rare %}u{{ u.i }}, {% endfor %}0)::VARCHAR COLLATE POSIX AS label, sum(size)::BIGINT AS size FROM released WHERE {{ has() }} GROUP BY ALL{% endset %}
        {{ parts(seen) }}
    ) AS v ON v.label = {{ own }} AND {{ same(sql('s'), sql('v')) }}
    {% endif %}

),
-- One row: how many persons have values that, with all that is linked to them together, fewer than k persons have.
rarely AS MATERIALIZED (
    SELECT count(DISTINCT w.person) + count(DISTINCT w.part) FILTER (WHERE w.person IS NULL) AS persons
    FROM worn AS w
    JOIN (SELECT part FROM worn GROUP BY part HAVING count(DISTINCT person) < {{ k }}) AS g USING (part)
),
{% endif %}
{% for r in read_links %}
-- One row: how many values share a pseudonym with another, and the least length at which none does.
merged_{{ r.i }} AS MATERIALIZED (
    SELECT coalesce(sum(len(texts)), 0) AS texts, dbanon_pseudonym_length(flatten(list(texts)), {{ r.how }}) AS least
    FROM (
        SELECT list(told) AS texts
        FROM (SELECT DISTINCT {{ r.told }} COLLATE POSIX AS told, {{ r.made }} COLLATE POSIX AS made FROM {{ origin }})
        WHERE told IS NOT NULL
        GROUP BY made
        HAVING count(*) > 1
    )
),
{% endfor %}
