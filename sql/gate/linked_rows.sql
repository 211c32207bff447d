{#- What pseudonyms reveal: which rows belong together. A part of the gate, computed from the final rows. An attacker
    sees not one row of a person but all rows with one pseudonym. So persons are distinguished by the classes that
    their rows are in, and how often (a trail), and the persons of each trail must meet the model: in each class, and
    over all of their rows. Pseudonyms of several columns link rows to further rows: then persons are distinguished by
    all rows that are linked, and by their place among them (dbanon_together). A record without any pseudonym is linked
    to nothing, and neither is the record of a person with a single row: they are checked together. -#}
{%- from 'shared/record_assignment.sql' import shown_values with context -%}
{% macro each(before=sql('')) -%}
    {% for l in pseudonym_columns %}{% if not loop.first %}, {% endif %}{{ before }}{{ l.column }}{% endfor %}
{%- endmacro %}
{# Whether a record has a pseudonym; whether two relations are about the same ones. #}
{% macro has(of=sql('')) -%}
    {% for l in pseudonym_columns %}{% if not loop.first %} OR {% endif %}{{ of }}{{ l.column }} IS NOT NULL{% endfor %}
{%- endmacro %}
{% macro same(one, other) -%}
    {% for l in pseudonym_columns %}{% if not loop.first %} AND {% endif %}{{ other }}.{{ l.column }} \
        IS NOT DISTINCT FROM {{ one }}.{{ l.column }}{% endfor %}
{%- endmacro %}
{% set rare = unchanged|selectattr('check_rare')|list %}
{#- One row per row of a query (label, size, links) and part that it is of. A row without any pseudonym is judged as a
    single one with pseudonyms that no other row has. -#}
{% macro parts(seen) %}
    SELECT * EXCLUDE (parts), unnest(parts) AS part
    FROM (
        SELECT
            unnest(rows, max_depth := 2),
            unnest(dbanon_together(list_transform(rows, lambda r: {
                'label': (r).label,
                'size': CASE WHEN {{ has(sql('(r).')) }} THEN (r).size ELSE 1 END,
                'links': [
                    {% for l in pseudonym_columns %}
                    CASE WHEN {{ has(sql('(r).')) }} THEN (r).{{ l.column }} \
                        ELSE chr(0) || '{{ l.i }} ' || (r).label END
                    {%- if not loop.last %},{% endif +%}
                    {% endfor %}
                ]
            }))) AS parts
        FROM (SELECT list(seen ORDER BY seen ASC) AS rows FROM ({{ seen }}) AS seen)
    )
{% endmacro %}
{% if pseudonym_columns|length == 1 %}
-- One row per published pseudonym: a number for the classes of its rows (its trail), and the class if it has one row.
trails AS MATERIALIZED (
    SELECT link, single_in, dense_rank() OVER (ORDER BY seen ASC) AS trail
    FROM (
        SELECT link, CASE WHEN sum(size) = 1 THEN min(class_id) END AS single_in, \
            list(row(class_id, size) ORDER BY class_id ASC) AS seen
        FROM (SELECT {{ each() }} AS link, class_id, sum(size) AS size FROM released_values WHERE {{ has() }} \
            GROUP BY ALL)
        GROUP BY link
    )
),
-- One row per record with a pseudonym and way to view it: in its class, or with all rows of the person (class -2).
followed_records AS MATERIALIZED (
    SELECT CASE WHEN w.whole THEN -2 ELSE l.class_id END AS class_id, t.trail, t.single_in, s.*
    FROM source AS s
    JOIN record_classes AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif +%}
    JOIN trails AS t ON t.link = {{ each(sql('s.')) }}
    CROSS JOIN (SELECT unnest([false, true]) AS whole) AS w
),
-- One row per class in which k persons have a single row; a row without a pseudonym there is like theirs.
single_rows AS MATERIALIZED (
    SELECT single_in AS class_id FROM followed_records WHERE single_in IS NOT NULL GROUP BY single_in \
        HAVING count(DISTINCT person) >= {{ k }}
),
{% else %}
-- One row per combination of pseudonyms and a class, and part of what is linked to it: the row, each pseudonym, all
-- of it. Parts that readers cannot distinguish have equal numbers.
trails AS MATERIALIZED (
    {%- set seen %}SELECT {{ each() }}, class_id::VARCHAR AS label, sum(size)::BIGINT AS size FROM released_values \
        GROUP BY ALL{% endset %}
    {{ parts(seen) }}
),
-- One row per record with a pseudonym and part of linked rows that it belongs to, which is treated as a class.
followed_records AS MATERIALIZED (
    SELECT t.part AS class_id, 0 AS trail, s.*
    FROM source AS s
    JOIN record_classes AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif +%}
    JOIN trails AS t ON t.label = l.class_id::VARCHAR AND {{ same(sql('s'), sql('t')) }}

    WHERE {{ has(sql('s.')) }}
),
-- One row per class in which k persons have a single row; a row without a pseudonym there is like theirs.
single_rows AS MATERIALIZED (
    SELECT t.label::BIGINT AS class_id
    FROM trails AS t
    LEFT JOIN (SELECT class_id FROM followed_records GROUP BY class_id HAVING count(DISTINCT person) >= {{ k }}) AS g \
        ON g.class_id = t.part
    WHERE NOT ({{ has(sql('t.')) }})
    GROUP BY t.label
    HAVING count(*) = count(g.class_id)
),
{% endif %}
-- One row: how many persons can be distinguished from all but fewer than k others by their linked rows. Records of an
-- unknown person count as one person each. Records without a pseudonym count if they are few and fewer than k persons
-- have a single row in their class.
linked_below_k AS MATERIALIZED (
    SELECT coalesce(sum(persons), 0) AS persons
    FROM (
        SELECT count(DISTINCT f.person) + count(DISTINCT row(f.class_id, f.trail)) \
            FILTER (WHERE f.person IS NULL) AS persons
        FROM followed_records AS f
        JOIN (SELECT class_id, trail FROM followed_records GROUP BY ALL HAVING count(DISTINCT person) < {{ k }}) AS g \
            USING (class_id, trail)
        UNION ALL
        SELECT sum(size)
        FROM released_values
        WHERE NOT ({{ has() }}) AND class_id NOT IN (SELECT class_id FROM single_rows)
        GROUP BY class_id
        HAVING sum(size) < {{ k }}
    )
),
{% if rare %}
{% set values %}{{ shown_values(rare) }}, {% endset %}
{% if pseudonym_columns|length > 1 %}
-- One row per combination of pseudonyms and values, and part of what is linked to it.
values_trail AS MATERIALIZED (
    {%- set seen %}SELECT {{ each() }}, row({{ values }}0)::VARCHAR COLLATE POSIX AS label, sum(size)::BIGINT AS size \
        FROM released_values GROUP BY ALL{% endset %}
    {{ parts(seen) }}
),
{% endif %}
-- One row per record with a pseudonym: its unchanged values, among those of all rows linked to it.
linked_values AS MATERIALIZED (
    {% set own %}row({{ shown_values(rare, sql('s.')) }}, 0)::VARCHAR COLLATE POSIX{% endset %}
    SELECT s.person, {% if pseudonym_columns|length == 1 %}row(v.lines, {{ own }}){% else %}v.part{% endif %} AS part
    FROM source AS s
    JOIN (SELECT DISTINCT rid FROM record_classes{% if suppress %} WHERE class_id <> -1{% endif %}) AS l \
        ON l.rid = s.rid
    {% if pseudonym_columns|length == 1 %}
    JOIN (
        SELECT link, list(line ORDER BY line COLLATE POSIX ASC) AS lines
        FROM (
            SELECT link, row({{ values }}size)::VARCHAR AS line
            FROM (SELECT {{ each() }} AS link, {{ values }}sum(size) AS size \
                FROM released_values WHERE {{ has() }} GROUP BY ALL)
        )
        GROUP BY link
    ) AS v ON v.link = {{ each(sql('s.')) }}
    {% else %}
    JOIN values_trail AS v ON v.label = {{ own }} AND {{ same(sql('s'), sql('v')) }}

    WHERE {{ has(sql('s.')) }}
    {% endif %}

),
-- One row per combination of unchanged values that k persons have in a single row.
single_values AS MATERIALIZED (
    {% if pseudonym_columns|length == 1 %}
    SELECT part FROM linked_values GROUP BY part HAVING count(DISTINCT person) >= {{ k }}
    {% else %}
    SELECT t.label AS part
    FROM values_trail AS t
    LEFT JOIN (SELECT part FROM linked_values GROUP BY part HAVING count(DISTINCT person) >= {{ k }}) AS g USING (part)
    WHERE NOT ({{ has(sql('t.')) }})
    GROUP BY t.label
    HAVING count(*) = count(g.part)
    {% endif %}

),
-- One row: how many persons have unchanged values that, together with those of all linked rows, fewer than k persons
-- have.
rare_linked AS MATERIALIZED (
    SELECT coalesce(sum(persons), 0) AS persons
    FROM (
        SELECT count(DISTINCT w.person) + count(DISTINCT w.part) FILTER (WHERE w.person IS NULL) AS persons
        FROM linked_values AS w
        JOIN (SELECT part FROM linked_values GROUP BY part HAVING count(DISTINCT person) < {{ k }}) AS g USING (part)
        UNION ALL
        SELECT sum(size)
        FROM (
            {% set own %}row({{ values }}0)::VARCHAR COLLATE POSIX{% endset %}
            SELECT {% if pseudonym_columns|length == 1 %}row([row({{ values }}1)::VARCHAR], {{ own }})\
                {% else %}{{ own }}{% endif %} AS part, sum(size) AS size
            FROM released_values
            WHERE NOT ({{ has() }})
            GROUP BY ALL
            HAVING sum(size) < {{ k }}
        )
        WHERE part NOT IN (SELECT part FROM single_values)
    )
),
{% endif %}
{% for r in read_links %}
-- One row: how many values share a pseudonym with another value, and the least length of pseudonyms without this.
{{ 'merged'|of(r) }} AS MATERIALIZED (
    SELECT coalesce(sum(len(texts)), 0) AS texts, \
        dbanon_pseudonym_length(flatten(list(texts)), {{ r.settings }}) AS least
    FROM (
        SELECT list(value_text) AS texts
        FROM (SELECT DISTINCT {{ r.value_text }} COLLATE POSIX AS value_text, \
            {{ r.pseudonym }} COLLATE POSIX AS pseudonym \
            FROM {{ origin }})
        WHERE value_text IS NOT NULL
        GROUP BY pseudonym
        HAVING count(*) > 1
    )
),
{% endfor %}
