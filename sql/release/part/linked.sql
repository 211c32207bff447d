{#- What pseudonyms tell: which rows are of one person. A part of the gate, from the rows that leave. What an attacker sees
    of a person is not a row but all rows with one pseudonym, so persons are told apart by the classes that their rows are
    in, and how often (a trail), and the model holds for the persons of each trail: in each class, and over all of their
    rows. -#}
-- A row a pseudonym that leaves: a number for what its rows are in, class by class.
trail AS MATERIALIZED (
    SELECT link, dense_rank() OVER (ORDER BY seen ASC) AS trail
    FROM (
        SELECT link, list(row(class_id, size) ORDER BY class_id ASC) AS seen
        FROM (SELECT u{{ link.i }} AS link, class_id, sum(size) AS size FROM released WHERE u{{ link.i }} IS NOT NULL GROUP BY ALL)
        GROUP BY link
    )
),
-- A row a record with a pseudonym and a way to look at it: in its class, or beside all of the person (class -2).
followed AS MATERIALIZED (
    SELECT CASE WHEN w.whole THEN -2 ELSE l.class_id END AS class_id, t.trail, s.*
    FROM source AS s
    JOIN placed AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif +%}
    JOIN trail AS t ON t.link = s.u{{ link.i }}
    CROSS JOIN (SELECT unnest([false, true]) AS whole) AS w
),
-- One row: how many persons have a trail that fewer than k have. Records without a pseudonym are linked to nothing, and
-- stand out in their class where they are few.
alone AS MATERIALIZED (
    SELECT coalesce(sum(size), 0) AS persons
    FROM (
        SELECT count(DISTINCT person) AS size FROM followed GROUP BY trail HAVING count(DISTINCT person) < {{ k }}
        UNION ALL
        SELECT sum(size) FROM released WHERE u{{ link.i }} IS NULL GROUP BY class_id HAVING sum(size) < {{ k }}
    )
),
{% set rare = unchanged|selectattr('check_rare')|list %}
{% if rare %}
-- One row: how many persons have values that are published as they are and that, of all their rows together, fewer than
-- k persons have.
rarely AS MATERIALIZED (
    SELECT coalesce(sum(persons), 0) AS persons
    FROM (
        SELECT count(DISTINCT s.person) AS persons
        FROM source AS s
        JOIN (
            SELECT link, list(line ORDER BY line COLLATE POSIX ASC) AS lines
            FROM (
                SELECT link, row({% for u in rare %}u{{ u.i }}, {% endfor %}size)::VARCHAR AS line
                FROM (SELECT u{{ link.i }} AS link{% for u in rare %}, u{{ u.i }}{% endfor %}, sum(size) AS size FROM released WHERE u{{ link.i }} IS NOT NULL GROUP BY ALL)
            )
            GROUP BY link
        ) AS v ON v.link = s.u{{ link.i }}
        GROUP BY v.lines
        HAVING count(DISTINCT s.person) < {{ k }}
    )
),
{% endif %}
-- One row: how many values share a pseudonym with another, and the least length at which none does.
merged AS MATERIALIZED (
    SELECT coalesce(sum(len(texts)), 0) AS texts, dbanon_pseudonym_length(flatten(list(texts)), {{ read_link.how }}) AS least
    FROM (
        SELECT list(told) AS texts
        FROM (SELECT DISTINCT {{ read_link.told }} COLLATE POSIX AS told, {{ read_link.made }} COLLATE POSIX AS made FROM {{ origin }})
        WHERE told IS NOT NULL
        GROUP BY made
        HAVING count(*) > 1
    )
),
