{#- The release gate of related tables. It judges the rows as they leave beside a second reading of the tables and the
    policies as it reads them itself: every row for itself (judged.sql), and what the rows of all tables say together of
    each person, joined again by the pseudonyms that leave. It takes from the path which row a row stands for, and checks
    that it may. -#}
{%- from 'gate/related_regrouped.sql' import bytes, texts with context -%}
{%- from 'gate/related_person_values.sql' import held with context -%}
{% for t in tables %}
-- A second reading, by the gate's own words: a row a row of the table, with its key as it is stored.
{{ 'second'|of(t) }} AS MATERIALIZED (
    SELECT
        {{ t.source.row_number }} AS number
        {% for key in t.gate.key %}, {{ key }} AS k{{ loop.index0 }}{% endfor %}
        {% for r in t.rules %}, {{ r.source_value }} AS {{ r.column }}{% endfor %}
        {% for own in t.read_unchanged %}, {{ own }} AS u{{ loop.index0 }}{% endfor +%}
    FROM {{ t.source.origin }}
),
-- One row: how many of the rows that leave do not stand for the row that they are said to stand for.
{{ 'judged'|of(t) }} AS MATERIALIZED (
{{ t.gate.measures_sql }}
),
-- A row a row that leaves: whose it is, what it says of quasi-identifiers (seen) and of everything (told).
{{ 'shown'|of(t) }} AS MATERIALIZED (
    SELECT
        {{ t.names.key }} AS pseudonym, {{ t.names.class_id }} AS class_id, {{ row }} AS number, {{ place }} AS place,
        {{ bytes(t) }} AS seen, {{ texts(t) }} AS told
    FROM {{ 'leaving'|of(t) }}
),
{% endfor %}
{% for t in children %}
-- A row a pseudonym: all rows that leave under it.
{{ 'together'|of(t) }} AS MATERIALIZED (
    SELECT pseudonym, count(*) AS size, min(class_id) AS low, max(class_id) AS high, list(seen ORDER BY seen ASC) AS seen, list(told ORDER BY told ASC) AS told
    FROM {{ 'shown'|of(t) }}
    GROUP BY pseudonym
),
-- A row a person: how many rows the table has of the person.
{{ 'held'|of(t) }} AS MATERIALIZED (
    SELECT p.number, count(c.number) AS size
    FROM {{ 'second'|of(parent) }} AS p
    LEFT JOIN {{ 'second'|of(t) }} AS c ON {% for key in t.gate.key %}{% if not loop.first %} AND {% endif %}c.k{{ loop.index0 }} = p.k{{ loop.index0 }}{% endfor +%}
    GROUP BY p.number
),
{% endfor %}
-- A row a person as a reader sees the person, over all tables.
reader AS MATERIALIZED (
    SELECT
        p.pseudonym, p.class_id, p.number, p.place, p.seen AS seen0, p.told AS told0
        {% for t in children %}
        , coalesce(c{{ t.i }}.seen, []) AS seen{{ t.i }}, coalesce(c{{ t.i }}.told, []) AS told{{ t.i }}
        , coalesce(c{{ t.i }}.size, 0) AS size{{ t.i }}, h{{ t.i }}.size AS held{{ t.i }}
        , coalesce(c{{ t.i }}.low, p.class_id) = p.class_id AND coalesce(c{{ t.i }}.high, p.class_id) = p.class_id AS agrees{{ t.i }}
        {% endfor %}
    FROM {{ 'shown'|of(parent) }} AS p
    {% for t in children %}
    LEFT JOIN {{ 'together'|of(t) }} AS c{{ t.i }} ON c{{ t.i }}.pseudonym = p.pseudonym
    LEFT JOIN {{ 'held'|of(t) }} AS h{{ t.i }} ON h{{ t.i }}.number = p.number
    {% endfor %}
),
-- A row a class of people of whom a reader sees the same in all tables.
alike AS MATERIALIZED (
    SELECT
        count(*) AS size, min(class_id) AS low, max(class_id) AS high
        {% for t in children %}, min(size{{ t.i }}) AS size{{ t.i }}, max(size{{ t.i }}) AS most{{ t.i }}, min(held{{ t.i }}) AS held{{ t.i }}{% endfor +%}
    FROM reader
    GROUP BY {% for t in tables %}{% if not loop.first %}, {% endif %}seen{{ t.i }}{% endfor +%}
),
-- One row: true, or an error. No row of any table leaves before this is read.
gate AS MATERIALIZED (
    SELECT CASE
        {% for t in tables %}
        WHEN (SELECT struct_keys("dbanon row") FROM (SELECT * EXCLUDE ({{ row }}, {{ place }}) FROM {{ 'leaving'|of(t) }} LIMIT 1) AS "dbanon row") <> {{ t.gate.published_names }} THEN error({{ t.gate.say.columns }})
        WHEN judged{{ t.i }}.unknown > 0 THEN error({{ t.gate.say.unknown }})
        WHEN judged{{ t.i }}.untrue > 0 THEN error({{ t.gate.say.untrue }})
        WHEN judged{{ t.i }}.uncovered > 0 THEN error({{ t.gate.say.uncovered }})
        WHEN judged{{ t.i }}.finer > 0 THEN error({{ t.gate.say.finer }})
        WHEN ordered{{ t.i }}.rows > 0 THEN error({{ t.gate.say.order }})
        {% endfor %}
        WHEN people.missing <> 0 THEN error({{ gate_say.people }})
        {% for t in children %}
        WHEN foreign{{ t.i }}.rows > 0 THEN error({{ t.gate.say.foreign }})
        WHEN classes.lost{{ t.i }} > 0 THEN error({{ t.gate.say.lost }})
        {% endfor %}
        WHEN classes.small > 0 THEN error({{ gate_say.small }})
        WHEN classes.confused > 0 THEN error({{ gate_say.confused }})
        WHEN pseudonyms.people > 0 THEN error({{ gate_say.pseudonyms }})
        {% if l %}
        {% for t in tables %}{% for s in t.sensitive %}
        WHEN (SELECT count(*) FROM ({{ held(t, s) }}) WHERE different < {{ l }} OR most * {{ l }} > people) > 0 THEN error({{ s.say }})
        {% endfor %}{% endfor %}
        {% endif %}
        ELSE true
    END AS passed
    FROM {% for t in tables %}{{ 'judged'|of(t) }} AS judged{{ t.i }},
    (
        SELECT count(*) FILTER (WHERE place IS DISTINCT FROM own) AS rows
        FROM (SELECT place, row_number() OVER (ORDER BY pseudonym ASC, seen ASC, told ASC, place ASC) AS own FROM {{ 'shown'|of(t) }})
    ) AS ordered{{ t.i }},
    {% endfor %}
    (
        SELECT abs(count(*) - (SELECT count(*) FROM {{ 'second'|of(parent) }})) + count(*) - count(DISTINCT pseudonym) AS missing FROM reader
    ) AS people,
    {% for t in children %}
    {# The left joins keep every row: one without a person, or of another one, is seen. #}
    (
        SELECT count(*) FILTER (WHERE NOT coalesce({% for key in t.gate.key %}{% if not loop.first %} AND {% endif %}k.k{{ loop.index0 }} = o.k{{ loop.index0 }}{% endfor %}, false))
            + abs((SELECT sum(size) FROM {{ 'held'|of(t) }}) - (SELECT count(*) FROM {{ 'second'|of(t) }})) AS rows
        FROM {{ 'shown'|of(t) }} AS c
        LEFT JOIN {{ 'second'|of(t) }} AS k ON k.number = c.number
        LEFT JOIN {{ 'shown'|of(parent) }} AS p ON p.pseudonym = c.pseudonym
        LEFT JOIN {{ 'second'|of(parent) }} AS o ON o.number = p.number
    ) AS foreign{{ t.i }},
    {% endfor %}
    (
        SELECT
            count(*) FILTER (WHERE size < {{ k }}) AS small,
            count(*) FILTER (WHERE low <> high) + count(*) - count(DISTINCT low) {% for t in children %}+ (SELECT count(*) FROM reader WHERE NOT agrees{{ t.i }}) {% endfor %}AS confused
            {% for t in children %}
            , count(*) FILTER (WHERE size{{ t.i }} <> most{{ t.i }} OR size{{ t.i }} IS DISTINCT FROM least(held{{ t.i }}, {{ cap }})) AS lost{{ t.i }}
            {% endfor %}
        FROM alike
    ) AS classes,
    (
        SELECT count(*) FILTER (WHERE pseudonym IS DISTINCT FROM own OR class_id IS DISTINCT FROM own_class) AS people
        FROM (
            SELECT
                pseudonym, class_id,
                row_number() OVER (ORDER BY {% for t in tables %}seen{{ t.i }} ASC, {% endfor %}{% for t in tables %}told{{ t.i }} ASC, {% endfor %}pseudonym ASC) AS own,
                dense_rank() OVER (ORDER BY {% for t in tables %}{% if not loop.first %}, {% endif %}seen{{ t.i }} ASC{% endfor %}) AS own_class
            FROM reader
        )
    ) AS pseudonyms
)
