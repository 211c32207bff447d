{#- Shares of records that pairs and triples of columns make unique: combined_columns -> value_combinations ->
    combination_counts -> best_combinations. -#}
-- One row per column that is combined with others: its rank among them.
combined_columns AS MATERIALIZED (
    SELECT place, row_number() OVER (ORDER BY role = 'quasi' DESC, distinction DESC, place ASC) AS rank
    FROM proposed_roles
    WHERE role NOT IN ('identifier', 'person') AND n_groups > 1
    QUALIFY rank <= {{ slots|length }}
),
-- One row per combination of values of these columns: a hash of each value, in order of the columns' ranks, and the
-- number of records. The hash of a value includes the column's place, which distinguishes columns. It is hashed twice,
-- because DuckDB joins two hashes with an xor that would cancel out; so an xor of these is a hash of a combination.
value_combinations AS MATERIALIZED (
    SELECT
        {% for s in slots %}
        hashes[places[{{ s }}]] AS hash_{{ s }},
        {% endfor %}
        count(*) AS records
    FROM (
        SELECT [
            {% for c in columns %}
            hash(hash({{ c.column }}, {{ c.i }})){{ sql(',') if not loop.last }}
            {% endfor %}
        ] AS hashes
        FROM source
    ), (
        SELECT coalesce(list(place + 1 ORDER BY rank ASC), []) AS places FROM combined_columns
    )
    GROUP BY ALL
),
-- One row per combination of values, with a mask: only combinations whose hash has no bit of it are counted.
masked_combinations AS MATERIALIZED (
    SELECT
        *,
        (
            SELECT (2 ** greatest(0, ceil(log2(greatest(count(*), 1) / {{ groups }}))) - 1)::UBIGINT
            FROM value_combinations
        ) AS mask
    FROM value_combinations
),
-- One row per combination of columns: how many records it makes unique.
combination_counts AS MATERIALIZED (
    {% for c in combinations %}
    SELECT
        {{ c.ranks }} AS ranks,
        count(*) FILTER (WHERE records = 1) AS n_uniques
    FROM (
        SELECT sum(records) AS records
        FROM masked_combinations
        WHERE {{ c.hash }} & mask = 0
        GROUP BY {{ c.hash }}
    )
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% else %}
    SELECT []::INTEGER[] AS ranks, 0 AS n_uniques WHERE false
    {% endfor %}
),
-- One row per column and size: the combination of that many columns, among them this one, that makes most records
-- unique; of several the first.
best_combinations AS MATERIALIZED (
    SELECT
        c.place, n.size, n.share,
        (
            SELECT list(r.column_name ORDER BY other.rank ASC)
            FROM combined_columns AS other JOIN proposed_roles AS r USING (place)
            WHERE list_contains(n.ranks, other.rank) AND other.place <> c.place
        ) AS other_columns
    FROM (
        SELECT
            ranks, len(ranks) AS size,
            least(1, n_uniques * (SELECT max(mask) + 1 FROM masked_combinations)
                / (SELECT sum(records) FROM masked_combinations)) AS share
        FROM combination_counts
        WHERE list_max(ranks) <= (SELECT count(*) FROM combined_columns)
    ) AS n
    JOIN combined_columns AS c ON list_contains(n.ranks, c.rank)
    QUALIFY row_number() OVER (PARTITION BY c.place, n.size ORDER BY n.share DESC, n.ranks ASC) = 1
)
