-- description: Kullback-Leibler divergence in nats from the distribution of the original quasi-identifiers to the \
    distribution that a reader assumes who spreads each record evenly over the cells of its class.
-- better: lower
-- source: review of clustering methods, Equation 11
-- order: 128
-- requires: divergence
-- custodian: classes
{#- Of released records. A cell of a category is a leaf, or an inner node that is a value of the column; of a number a
    step of an integer, decimal or date, else one of the column's own values (a step of a float or an instant means
    nothing); and NULL, where the column has any. An open end reaches to the least or greatest value of the column, and
    `*`, or typed bounds that are NULL, over all of it.
    The classes that cover a tuple are looked up by the nodes they publish, so there is a look-up for each tuple and
    each combination of levels that classes are published on, and within those numbers are compared. -#}
{%- from 'release/plan/number_column.sql' import width with context -%}
{% set numbers = quasi|selectattr('is_number')|list %}
{% set categories = quasi|rejectattr('is_number')|list %}
{% macro end_of(q, value) %}{{ value }}{% if q.ends.is_day %}::DATE{% endif %}{% endmacro %}
{% macro empty(q) %}(SELECT count(*) > count({{ q.column }}) FROM class_originals){% endmacro %}
(
-- One row per combination of original values: how many records have it.
WITH tuple AS MATERIALIZED (
    SELECT row_number() OVER () AS id, *
    FROM (SELECT {% for q in quasi %}{{ q.column }}, {% endfor %}sum(size) AS size FROM class_originals GROUP BY ALL)
),
-- One row per class and span: what all of them publish.
model AS MATERIALIZED (
    SELECT g.*{% for q in categories %}, x.{{ 'low'|of(q) }}, x.{{ 'high'|of(q) }}{% if widens %}, \
        x.{{ 'raised'|of(q) }}{% endif %}{% endfor %}
    FROM generalized_spans AS g
    JOIN span_ranges AS x USING (span)
    WHERE g.span IN (SELECT min(span) FROM generalized_spans GROUP BY class_id)
),
{% for q in numbers %}
-- One row per value: its rank, from 1; NULL is 0.
{{ 'order'|of(q) }} AS MATERIALIZED (
    SELECT value, {{ end_of(q, sql('value')) }} AS place_of, row_number() OVER (ORDER BY value ASC) AS place
    FROM (SELECT DISTINCT {{ q.column }} AS value FROM class_originals WHERE {{ q.column }} IS NOT NULL)
),
-- One row per possible interval end: the last rank there.
{{ 'ends'|of(q) }} AS MATERIALIZED (SELECT place_of, max(place) AS place FROM {{ 'order'|of(q) }} GROUP BY place_of),
-- One row: the least and greatest value, and the last rank.
{{ 'whole range'|of(q) }} AS (SELECT min(place_of) AS low, max(place_of) AS high, max(place) AS place \
    FROM {{ 'ends'|of(q) }}),
-- One row per class: the cells that it covers in this column, and their number.
{{ 'regions'|of(q) }} AS MATERIALIZED (
    SELECT
        r.class_id,
        CASE WHEN r.whole OR NOT r.known THEN 0 ELSE coalesce(a.place, 0) + 1 END AS low,
        CASE WHEN NOT r.known THEN 0 WHEN r.whole THEN w.place ELSE b.place END AS high,
        CASE
            WHEN NOT r.known THEN 1.0
            {% if q.family.is_counted %}
            WHEN r.whole THEN {{ width(q, sql('w.high'), sql('w.low')) }} + 1 + {{ empty(q) }}::INTEGER
            ELSE {{ width(q, sql('r.high'), sql('r.low')) }} + 1
            {% else %}
            WHEN r.whole THEN w.place + {{ empty(q) }}::INTEGER
            ELSE b.place - coalesce(a.place, 0)
            {% endif %}
        END::DOUBLE AS cells
    FROM (
        SELECT
            m.class_id,
            {% if typed %}true AS known, m.{{ 'low'|of(q) }} IS NULL AS whole
            {% else %}m.{{ 'published'|of(q) }} IS NOT NULL AS known, \
                coalesce(m.{{ 'published'|of(q) }} = '*', false) AS whole
            {% endif %}
            , {% if q.bottom %}CASE WHEN m.{{ 'low'|of(q) }} <= {{ q.bottom }} THEN least(m.{{ 'low'|of(q) }}, w.low) \
                ELSE m.{{ 'low'|of(q) }} END{% else %}m.{{ 'low'|of(q) }}{% endif %} AS low
            , {% if q.top %}CASE WHEN m.{{ 'high'|of(q) }} >= {{ q.top }} THEN greatest(m.{{ 'high'|of(q) }}, w.high) \
                ELSE m.{{ 'high'|of(q) }} END{% else %}m.{{ 'high'|of(q) }}{% endif %} AS high
        FROM model AS m, {{ 'whole range'|of(q) }} AS w
    ) AS r
    CROSS JOIN {{ 'whole range'|of(q) }} AS w
    ASOF LEFT JOIN {{ 'ends'|of(q) }} AS a ON r.low > a.place_of
    ASOF LEFT JOIN {{ 'ends'|of(q) }} AS b ON r.high >= b.place_of
),
{% endfor %}
{% for q in categories %}
-- One row per value and node above it.
{{ 'lines'|of(q) }} AS MATERIALIZED (
    SELECT v.value, t.line
    FROM value_codes AS v
    JOIN nodes AS t ON t.tree = v.tree AND t.node = v.own
    WHERE v.tree = {{ q.tree }}
),
-- One row per node: the number of cells below it.
{{ 'cells'|of(q) }} AS MATERIALIZED (
    SELECT node, count(*) AS cells
    FROM (
        SELECT unnest(line) AS node
        FROM nodes
        WHERE tree = {{ q.tree }} AND (is_leaf OR node IN (SELECT own FROM value_codes WHERE tree = {{ q.tree }}))
    )
    GROUP BY node
),
-- One row per class: its published node, as its place in preorder (-1: all, -2: NULL) and its depth, and the number of
-- cells below it.
{{ 'regions'|of(q) }} AS MATERIALIZED (
    SELECT
        m.class_id,
        CASE WHEN m.{{ 'published'|of(q) }} = '*' THEN -1 WHEN m.{{ 'published'|of(q) }} IS NULL THEN -2 \
            ELSE t.node END AS node,
        CASE WHEN m.{{ 'published'|of(q) }} = '*' THEN -1 WHEN m.{{ 'published'|of(q) }} IS NULL THEN -2 \
            ELSE t.depth END AS depth,
        CASE WHEN m.{{ 'published'|of(q) }} = '*' THEN (SELECT max(cells) FROM {{ 'cells'|of(q) }}) \
            + {{ empty(q) }}::INTEGER WHEN m.{{ 'published'|of(q) }} IS NULL THEN 1 ELSE c.cells END::DOUBLE AS cells
    FROM model AS m
    LEFT JOIN (FROM range_nodes WHERE tree = {{ q.tree }}) AS p ON p.low = m.{{ 'low'|of(q) }} \
        AND p.high = m.{{ 'high'|of(q) }}{% if widens %} AND p.raised = m.{{ 'raised'|of(q) }}{% endif +%}
    LEFT JOIN (FROM nodes WHERE tree = {{ q.tree }}) AS t ON t.node = p.node
    LEFT JOIN {{ 'cells'|of(q) }} AS c ON c.node = p.node
),
{% endfor %}
-- One row per class: its cells in all columns, and the density of its records in them.
region AS MATERIALIZED (
    SELECT
        c.size::DOUBLE{% for q in quasi %} / {{ 'regions'|of(q) }}.cells{% endfor %} AS density
        {% for q in numbers %}, {{ 'regions'|of(q) }}.low AS {{ 'low'|of(q) }}, \
            {{ 'regions'|of(q) }}.high AS {{ 'high'|of(q) }}{% endfor %}
        {% for q in categories %}, {{ 'regions'|of(q) }}.node AS {{ 'node'|of(q) }}, \
            {{ 'regions'|of(q) }}.depth AS {{ 'depth'|of(q) }}{% endfor %}
    FROM sized_classes AS c
    {% for q in quasi %}JOIN {{ 'regions'|of(q) }} AS {{ 'regions'|of(q) }} ON {{ 'regions'|of(q) }}.class_id \
        = c.class_id {% endfor %}
),
-- One row per combination of original values and levels on which classes are published: the nodes to look up.
asked AS (
    SELECT
        t.id
        {% for q in numbers %}, coalesce({{ 'order'|of(q) }}.place, 0) AS {{ 'rank'|of(q) }}{% endfor %}
        {% for q in categories %}, CASE l.{{ 'depth'|of(q) }} WHEN -1 THEN -1 \
            WHEN -2 THEN CASE WHEN t.{{ q.column }} IS NULL THEN -2 END \
            ELSE {{ 'lines'|of(q) }}.line[l.{{ 'depth'|of(q) }} + 1] END AS {{ 'node'|of(q) }}{% endfor %}
    FROM tuple AS t
    {% for q in numbers %}LEFT JOIN {{ 'order'|of(q) }} AS {{ 'order'|of(q) }} ON {{ 'order'|of(q) }}.value \
        = t.{{ q.column }} {% endfor %}
    {% for q in categories %}LEFT JOIN {{ 'lines'|of(q) }} AS {{ 'lines'|of(q) }} ON {{ 'lines'|of(q) }}.value \
        = t.{{ q.column }} {% endfor %}
    {% if categories %}CROSS JOIN (SELECT DISTINCT {% for q in categories %}\
        {% if not loop.first %}, {% endif %}{{ 'depth'|of(q) }}{% endfor %} FROM region) AS l{% endif %}
)
SELECT {{ metric_name }}, NULL, fsum(t.size / n.records * ln(t.size / s.density))
FROM tuple AS t
JOIN (
    SELECT a.id, fsum(r.density) AS density
    FROM asked AS a
    JOIN region AS r
        ON {% for q in categories %}{% if not loop.first %} AND {% endif %}r.{{ 'node'|of(q) }} \
            = a.{{ 'node'|of(q) }}{% endfor %}
        {% for q in numbers %}{% if not loop.first or categories %} AND {% endif %}a.{{ 'rank'|of(q) }} \
            >= r.{{ 'low'|of(q) }} AND a.{{ 'rank'|of(q) }} <= r.{{ 'high'|of(q) }}{% endfor %}
    GROUP BY a.id
) AS s USING (id)
CROSS JOIN (SELECT sum(size) AS records FROM sized_classes) AS n)
