{#- Limits that another published column undoes: the place of the limited column, that of the other, and how many
    records of the sample the limit hides from readers.
    sampled_records -> published_codes, hidden_records -> part_counts -> group_counts, base_rates -> scores, orders. -#}
WITH
-- One row per record of a sample: the values of each column, and what its limit publishes instead.
sampled_records AS MATERIALIZED (
    SELECT
        rid
        {% for c in columns %}
        , {{ c.value }} AS {{ c.column }}
        {% if c.cell %}
        , {{ c.cell }} AS {{ 'cell'|of(c) }}
        {% endif %}
        {% endfor %}
    FROM (
        SELECT *, row_number() OVER () AS rid FROM {{ source }}
    )
    WHERE hash(rid) % (SELECT greatest(1, count(*) // {{ sample }}) FROM {{ source }}) = 0
),
-- One row per record and column: its place in the order of published values, and a code of its value; of values that
-- hardly repeat, a code of those next to it.
published_codes AS MATERIALIZED (
    {% for c in columns %}
    SELECT
        rid, {{ c.place }} AS place, value_rank,
        CASE
            WHEN count(*) OVER () >= {{ limits.MIN_REPETITIONS }} * max(value_number) OVER () THEN value_number
            ELSE (value_rank - 1) // {{ limits.N_NEIGHBOURS }}
        END AS code
    FROM (
        SELECT
            rid, dense_rank() OVER (ORDER BY value ASC) AS value_number, rank() OVER (ORDER BY value ASC) AS value_rank
        FROM (
            SELECT rid, {% if c.cell %}{{ 'cell'|of(c) }}{% else %}{{ c.column }}{% endif %} AS value
            FROM sampled_records
        )
        WHERE value IS NOT NULL
    )
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% endfor %}
),
-- One row per limited column and record of which the limit hides something: the cell that is published, and which part
-- of the cell the record is in.
hidden_records AS MATERIALIZED (
    {% for c in columns if c.cell %}
    SELECT
        rid, {{ c.place }} AS limited_place, cell, value_number,
        CASE
            WHEN n_values <= {{ limits.N_CELL_PARTS }} THEN value_number
            ELSE (value_rank - 1) * {{ limits.N_CELL_PARTS }} // n_records
        END AS part
    FROM (
        SELECT *, max(value_number) OVER (PARTITION BY cell) AS n_values, count(*) OVER (PARTITION BY cell) AS n_records
        FROM (
            SELECT
                rid, cell, dense_rank() OVER (PARTITION BY cell ORDER BY value ASC) AS value_number,
                rank() OVER (PARTITION BY cell ORDER BY value ASC) AS value_rank
            FROM (
                SELECT rid, {{ c.column }} AS value, dense_rank() OVER (ORDER BY {{ 'cell'|of(c) }} ASC) AS cell
                FROM sampled_records
                WHERE {{ c.column }} IS NOT NULL AND {{ 'cell'|of(c) }} IS NOT NULL
            )
        )
    )
    WHERE n_values > 1
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% endfor %}
),
-- One row per pair of columns, cell, published value of the other column, and part of the cell.
part_counts AS MATERIALIZED (
    SELECT limited_place, place, cell, code, part, count(*)::DOUBLE AS n
    FROM hidden_records
    JOIN published_codes USING (rid)
    WHERE place <> limited_place
    GROUP BY ALL
),
-- One row per pair of columns, cell and published value: how many pairs of its records are in the same part.
group_counts AS MATERIALIZED (
    SELECT limited_place, place, cell, code, sum(n) AS n, sum(n * (n - 1)) AS n_equal_pairs
    FROM part_counts
    GROUP BY ALL
),
-- One row per pair of columns and cell: how probable the same part is for two records of the cell.
base_rates AS MATERIALIZED (
    SELECT
        limited_place, place, cell, sum(n) AS records,
        sum(n * (n - 1)) / nullif(sum(n) * (sum(n) - 1), 0) AS base,
        sum((n / total) ** 3) AS cubes
    FROM (
        SELECT *, sum(n) OVER (PARTITION BY limited_place, place, cell) AS total
        FROM (SELECT limited_place, place, cell, part, sum(n) AS n FROM part_counts GROUP BY ALL)
    )
    GROUP BY ALL
),
-- One row per pair of columns: how much more probable it is for records that agree in the other column, how much more
-- it could be, and the standard deviation of that for independent columns.
scores AS (
    SELECT
        limited_place, place,
        any_value(n_records) AS records,
        sum(n * (n_equal_pairs / (n * (n - 1)) - base)) AS gain,
        any_value(max_gain) AS max_gain,
        sqrt(sum(
            n * n * (4 * (n - 2) * greatest(cubes - base * base, 0) + 2 * (base - base * base)) / (n * (n - 1))
        )) AS deviation
    FROM group_counts
    JOIN base_rates AS b USING (limited_place, place, cell)
    JOIN (
        SELECT limited_place, place, sum(records * (1 - base)) AS max_gain, sum(records) AS n_records
        FROM base_rates
        GROUP BY ALL
    ) USING (limited_place, place)
    WHERE n > 1
    GROUP BY ALL
),
-- One row per pair of columns: whether the order of records in a cell is that in the other column, which shows in cells
-- of few records, too.
orders AS (
    SELECT
        limited_place, place, sum(records)::BIGINT AS records,
        abs(sum(CASE WHEN isfinite(correlation) THEN records * correlation ELSE 0 END)) / sum(records) AS correlation
    FROM (
        SELECT limited_place, place, cell, count(*) AS records, corr(value_number, value_rank) AS correlation
        FROM hidden_records
        JOIN published_codes USING (rid)
        WHERE place <> limited_place
        GROUP BY ALL
        HAVING count(DISTINCT value_number) >= {{ limits.MIN_ORDERED_VALUES }}
    )
    GROUP BY ALL
)
SELECT limited_place, place, records::BIGINT AS records
FROM (
    SELECT limited_place, place, records FROM scores
    WHERE records >= {{ limits.MIN_HIDDEN_RECORDS }} AND gain >= {{ limits.MIN_REVEALED_SHARE }} * max_gain
        AND gain >= {{ limits.MIN_DEVIATIONS }} * deviation
    UNION ALL
    SELECT limited_place, place, records FROM orders
    WHERE records >= {{ limits.MIN_HIDDEN_RECORDS }} AND correlation >= {{ limits.MIN_RANK_CORRELATION }}
)
QUALIFY row_number() OVER (PARTITION BY limited_place, place ORDER BY records DESC) = 1
