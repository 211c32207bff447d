{#- Columns that have the content of another one: single_proposals -> content_pairs -> equal_contents ->
    distinct_proposals. -#}
-- One row per column and word in its name.
column_words AS MATERIALIZED ({{ column_words }}),
-- One row per pair of columns whose names share a word.
similar_names AS MATERIALIZED (
    SELECT DISTINCT a.place, b.place AS other_place
    FROM column_words AS a
    JOIN column_words AS b ON b.word = a.word AND b.place <> a.place
),
-- One row per pair of columns that would be published and have equally many values, equally often: they may have the
-- same content. Columns of few values must also share a word of their names, as they may agree in few records. Where
-- most values are unique, every such pair would seem to.
content_pairs AS MATERIALIZED (
    SELECT p.place AS place, o.place AS other_place
    FROM single_proposals AS p
    JOIN single_proposals AS o
        ON o.place <> p.place AND o.n_groups = p.n_groups AND o.n_equal_pairs = p.n_equal_pairs
        AND o.n_uniques = p.n_uniques AND o.missing = p.missing
    LEFT JOIN similar_names AS n ON n.place = p.place AND n.other_place = o.place
    WHERE (n.place IS NOT NULL OR p.n_groups > {{ limits.MAX_CHANCE_VALUES }})
        AND p.proposal[1] IN ('quasi', 'sensitive') AND o.proposal[1] IN ('quasi', 'sensitive')
        AND p.n_groups > 1 AND p.n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }}
        AND p.n_groups <= {{ limits.MAX_SAME_CONTENT_SHARE }} * p.records
        {# Of two columns the more telling one stays: a sensitive one, one with a hierarchy, texts, then the first. #}
        AND (
            p.proposal[1] = 'sensitive', p.near_hierarchy IS NOT NULL, p.is_text, -p.place
        ) < (
            o.proposal[1] = 'sensitive', o.near_hierarchy IS NOT NULL, o.is_text, -o.place
        )
    QUALIFY row_number() OVER (ORDER BY p.place ASC, o.place ASC) <= {{ limits.MAX_CONTENT_PAIRS }}
),
-- One row per column all whose values determine those of another column, and the reverse: the first such column.
equal_contents AS MATERIALIZED (
    SELECT place, min(other_place) AS other_place
    FROM (
        SELECT place, other_place
        FROM (
            SELECT place, other_place, value_hash, min(other_hash) = max(other_hash) AS is_determined
            FROM (
                SELECT
                    c.place, c.other_place,
                    CASE c.place
                        {% for c in columns %}
                        WHEN {{ c.i }} THEN hash({{ c.column }})
                        {% endfor %}
                    END AS value_hash,
                    CASE c.other_place
                        {% for c in columns %}
                        WHEN {{ c.i }} THEN hash({{ c.column }})
                        {% endfor %}
                    END AS other_hash
                FROM content_pairs AS c, source
            )
            GROUP BY place, other_place, value_hash
        )
        {# There are equally many values on both sides, so that one direction shows the other one. #}
        GROUP BY place, other_place
        HAVING bool_and(is_determined)
    )
    GROUP BY place
),
-- One row per column: the proposal, given the other columns.
distinct_proposals AS MATERIALIZED (
    SELECT
        s.* REPLACE (
            CASE WHEN e.place IS NULL THEN s.proposal ELSE [
                '{{ withheld }}',
                'review: it has the same content as ' || o.column_name || ': each value of one column belongs to one '
                    || 'value of the other one. Publish one of them'
            ] END AS proposal
        )
    FROM single_proposals AS s
    LEFT JOIN equal_contents AS e USING (place)
    LEFT JOIN column_properties AS o ON o.place = e.other_place
)
