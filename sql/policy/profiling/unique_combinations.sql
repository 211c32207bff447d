{#- Shares of rows that pairs and triples of columns make unique: slot -> slotted -> tuples -> counted -> best. -#}
-- A row a column that is combined with others, numbered.
slot AS MATERIALIZED (
    SELECT place, row_number() OVER (ORDER BY role = 'quasi' DESC, distinction DESC, place ASC) AS slot
    FROM judged
    WHERE role NOT IN ('identifier', 'person') AND groups > 1
    QUALIFY slot <= {{ slots|length }}
),
-- One row: these columns.
picked AS MATERIALIZED (SELECT coalesce(list(place + 1 ORDER BY slot ASC), []) AS p FROM slot),
-- A row a combination of values of these columns: Hashes of the chosen columns; rows that agree in all of them are
-- one. The place in the hash keeps columns apart; hashed twice, as DuckDB joins two hashes with an xor that would
-- cancel out, so that xor is a hash of a combination.
slotted AS MATERIALIZED (
    SELECT {% for s in slots %}h[p[{{ s }}]] AS s{{ s }}, {% endfor %}count(*) AS records
    FROM (SELECT [{% for c in columns %}hash(hash(c{{ c.i }}, {{ c.i }})){% if not loop.last %}, {% endif %}{% endfor %}] AS h FROM source), picked
    GROUP BY ALL
),
-- The same rows, with the mask that divides the counting into rounds.
tuples AS MATERIALIZED (
    SELECT *, (SELECT (2 ** greatest(0, ceil(log2(greatest(count(*), 1) / {{ groups }}))) - 1)::UBIGINT FROM slotted) AS mask
    FROM slotted
),
-- A row a combination of columns: how many records it makes unique.
counted AS MATERIALIZED (
    {% for combination in combinations %}
    {% set key %}{% for s in combination %}{% if not loop.last %}xor(s{{ s }}, {% else %}s{{ s }}{% endif %}{% endfor %}{% for s in combination[1:] %}){% endfor %}{% endset %}
    SELECT [{% for s in combination %}{{ s }}{% if not loop.last %}, {% endif %}{% endfor %}] AS slots, count(*) FILTER (WHERE records = 1) AS uniques
    FROM (SELECT sum(records) AS records FROM tuples WHERE {{ key }} & mask = 0 GROUP BY {{ key }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% else %}
    SELECT []::INTEGER[] AS slots, 0 AS uniques WHERE false
    {% endfor %}
),
-- A row a column: For each column the combination that makes most rows unique; of equals the first.
best AS MATERIALIZED (
    SELECT s.place, n.size, n.share, (
        SELECT list(j.column_name ORDER BY o.slot ASC) FROM slot AS o JOIN judged AS j USING (place)
        WHERE list_contains(n.slots, o.slot) AND o.place <> s.place
    ) AS others
    FROM (
        SELECT slots, len(slots) AS size,
            least(1, uniques * (SELECT max(mask) + 1 FROM tuples) / (SELECT sum(records) FROM tuples)) AS share
        FROM counted
        WHERE list_max(slots) <= (SELECT count(*) FROM slot)
    ) AS n
    JOIN slot AS s ON list_contains(n.slots, s.slot)
    QUALIFY row_number() OVER (PARTITION BY s.place, n.size ORDER BY n.share DESC, n.slots ASC) = 1
)
