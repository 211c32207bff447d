{#- The release gate of related tables. It checks the rows in their published form against a second reading of the
    tables and of the policies: first every row, then what the rows of all tables reveal together about each person
    (related_person_values.sql), joined again by the published pseudonyms. From the plan it takes which record a
    published row is about, and checks that it may be. -#}
{%- from 'gate/related_regrouped.sql' import bytes, texts with context -%}
{%- from 'gate/related_person_values.sql' import held with context -%}
{% for t in tables %}
-- One row per row of the table, read a second time by expressions of the gate, with its key as it is stored.
{{ 'second'|of(t) }} AS MATERIALIZED (
    SELECT
        {{ t.source.row_number }} AS number
        {% for key in t.gate.key %}, {{ key }} AS "key: {{ loop.index }}"{% endfor %}
        {% for r in t.rules %}, {{ r.source_value }} AS {{ r.column }}{% endfor %}
        {% for own in t.read_unchanged %}, {{ own }} AS {{ t.unchanged[loop.index0].column }}{% endfor +%}
    FROM {{ t.source.origin }}
),
-- One row: how many published rows do not correspond to their row of the table.
{{ 'judged'|of(t) }} AS MATERIALIZED (
{{ t.gate.measures_sql }}
),
-- One row per published row: its pseudonym, its quasi-identifiers (`seen`) and all its values.
{{ 'shown'|of(t) }} AS MATERIALIZED (
    SELECT
        {{ t.names.key }} AS pseudonym, {{ t.names.class_id }} AS class_id, {{ row }} AS number, {{ place }} AS place,
        {{ bytes(t) }} AS seen, {{ texts(t) }} AS row_values
    FROM {{ 'published rows'|of(t) }}
),
{% endfor %}
{% for t in children %}
-- One row per pseudonym: all its published rows.
{{ 'together'|of(t) }} AS MATERIALIZED (
    SELECT pseudonym, count(*) AS size, min(class_id) AS low, max(class_id) AS high, \
        list(seen ORDER BY seen ASC) AS seen, list(row_values ORDER BY row_values ASC) AS row_values
    FROM {{ 'shown'|of(t) }}
    GROUP BY pseudonym
),
-- One row per person: how many rows the table has about the person.
{{ 'held'|of(t) }} AS MATERIALIZED (
    SELECT p.number, count(c.number) AS size
    FROM {{ 'second'|of(parent) }} AS p
    LEFT JOIN {{ 'second'|of(t) }} AS c ON {% for key in t.gate.key %}\
        {% if not loop.first %} AND {% endif %}c."key: {{ loop.index }}" = p."key: {{ loop.index }}"{% endfor +%}
    GROUP BY p.number
),
{% endfor %}
-- One row per person: what a reader sees in all tables.
reader AS MATERIALIZED (
    SELECT
        p.pseudonym, p.class_id, p.number, p.place, p.seen AS {{ 'seen'|of(parent) }}, \
        p.row_values AS {{ 'row values'|of(parent) }}
        {% for t in children %}
        , coalesce({{ 'together'|of(t) }}.seen, []) AS {{ 'seen'|of(t) }}, \
            coalesce({{ 'together'|of(t) }}.row_values, []) AS {{ 'row values'|of(t) }}
        , coalesce({{ 'together'|of(t) }}.size, 0) AS {{ 'row count'|of(t) }}, \
            {{ 'held'|of(t) }}.size AS {{ 'source rows'|of(t) }}
        , coalesce({{ 'together'|of(t) }}.low, p.class_id) = p.class_id \
            AND coalesce({{ 'together'|of(t) }}.high, p.class_id) = p.class_id AS {{ 'agrees'|of(t) }}
        {% endfor %}
    FROM {{ 'shown'|of(parent) }} AS p
    {% for t in children %}
    LEFT JOIN {{ 'together'|of(t) }} ON {{ 'together'|of(t) }}.pseudonym = p.pseudonym
    LEFT JOIN {{ 'held'|of(t) }} ON {{ 'held'|of(t) }}.number = p.number
    {% endfor %}
),
-- One row per class of persons about whom a reader sees the same in all tables.
distinct_rows AS MATERIALIZED (
    SELECT
        count(*) AS size, min(class_id) AS low, max(class_id) AS high
        {% for t in children %}, min({{ 'row count'|of(t) }}) AS {{ 'row count'|of(t) }}, \
            max({{ 'row count'|of(t) }}) AS {{ 'most rows'|of(t) }}, \
            min({{ 'source rows'|of(t) }}) AS {{ 'source rows'|of(t) }}{% endfor +%}
    FROM reader
    GROUP BY {% for t in tables %}{% if not loop.first %}, {% endif %}{{ 'seen'|of(t) }}{% endfor +%}
),
-- One row: true, or an error. No row of any table is published before this is read.
gate AS MATERIALIZED (
    SELECT CASE
        {% for t in tables %}
        WHEN (SELECT struct_keys({{ t.gate.row_alias }}) \
            FROM (SELECT * EXCLUDE ({{ row }}, {{ place }}) \
            FROM {{ 'published rows'|of(t) }} LIMIT 1) AS {{ t.gate.row_alias }}) <> {{ t.gate.published_names }} \
            THEN error({{ t.gate.say.columns }})
        WHEN {{ 'judged'|of(t) }}.unknown > 0 THEN error({{ t.gate.say.unknown }})
        WHEN {{ 'judged'|of(t) }}.untrue > 0 THEN error({{ t.gate.say.untrue }})
        WHEN {{ 'judged'|of(t) }}.uncovered > 0 THEN error({{ t.gate.say.uncovered }})
        WHEN {{ 'judged'|of(t) }}.finer > 0 THEN error({{ t.gate.say.finer }})
        WHEN {{ 'ordered'|of(t) }}.rows > 0 THEN error({{ t.gate.say.order }})
        {% endfor %}
        WHEN people.missing <> 0 THEN error({{ gate_say.people }})
        {% for t in children %}
        WHEN {{ 'foreign'|of(t) }}.rows > 0 THEN error({{ t.gate.say.foreign }})
        WHEN classes.{{ 'lost'|of(t) }} > 0 THEN error({{ t.gate.say.lost }})
        {% endfor %}
        WHEN classes.small > 0 THEN error({{ gate_say.small }})
        WHEN classes.confused > 0 THEN error({{ gate_say.confused }})
        WHEN pseudonyms.people > 0 THEN error({{ gate_say.pseudonyms }})
        {% if l %}
        {% for t in tables %}{% for s in t.sensitive %}
        WHEN (SELECT count(*) FROM ({{ held(t, s) }}) WHERE different < {{ l }} OR most * {{ l }} > people) > 0 \
            THEN error({{ s.say }})
        {% endfor %}{% endfor %}
        {% endif %}
        ELSE true
    END AS passed
    FROM {% for t in tables %}{{ 'judged'|of(t) }},
    (
        SELECT count(*) FILTER (WHERE place IS DISTINCT FROM own) AS rows
        FROM (SELECT place, row_number() OVER (ORDER BY pseudonym ASC, seen ASC, row_values ASC, place ASC) AS own \
            FROM {{ 'shown'|of(t) }})
    ) AS {{ 'ordered'|of(t) }},
    {% endfor %}
    (
        SELECT abs(count(*) - (SELECT count(*) FROM {{ 'second'|of(parent) }})) + count(*) \
            - count(DISTINCT pseudonym) AS missing FROM reader
    ) AS people,
    {% for t in children %}
    {# The left joins keep every row: one without a person, or of another one, is seen. #}
    (
        SELECT count(*) FILTER (WHERE NOT coalesce({% for key in t.gate.key %}\
            {% if not loop.first %} AND {% endif %}k."key: {{ loop.index }}" = o."key: {{ loop.index }}"{% endfor %}, \
            false))
            + abs((SELECT sum(size) FROM {{ 'held'|of(t) }}) - (SELECT count(*) FROM {{ 'second'|of(t) }})) AS rows
        FROM {{ 'shown'|of(t) }} AS c
        LEFT JOIN {{ 'second'|of(t) }} AS k ON k.number = c.number
        LEFT JOIN {{ 'shown'|of(parent) }} AS p ON p.pseudonym = c.pseudonym
        LEFT JOIN {{ 'second'|of(parent) }} AS o ON o.number = p.number
    ) AS {{ 'foreign'|of(t) }},
    {% endfor %}
    (
        SELECT
            count(*) FILTER (WHERE size < {{ k }}) AS small,
            count(*) FILTER (WHERE low <> high) + count(*) - count(DISTINCT low) \
                {% for t in children %}+ (SELECT count(*) FROM reader \
                WHERE NOT {{ 'agrees'|of(t) }}) {% endfor %}AS confused
            {% for t in children %}
            , count(*) FILTER (WHERE {{ 'row count'|of(t) }} <> {{ 'most rows'|of(t) }} \
                OR {{ 'row count'|of(t) }} IS DISTINCT FROM least({{ 'source rows'|of(t) }}, \
                {{ cap }})) AS {{ 'lost'|of(t) }}
            {% endfor %}
        FROM distinct_rows
    ) AS classes,
    (
        SELECT count(*) FILTER (WHERE pseudonym IS DISTINCT FROM own OR class_id IS DISTINCT FROM own_class) AS people
        FROM (
            SELECT
                pseudonym, class_id,
                row_number() OVER (ORDER BY {% for t in tables %}{{ 'seen'|of(t) }} ASC, {% endfor %}\
                    {% for t in tables %}{{ 'row values'|of(t) }} ASC, {% endfor %}pseudonym ASC) AS own,
                dense_rank() OVER (ORDER BY {% for t in tables %}\
                    {% if not loop.first %}, {% endif %}{{ 'seen'|of(t) }} ASC{% endfor %}) AS own_class
            FROM reader
        )
    ) AS pseudonyms
)
