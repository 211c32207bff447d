{#- inference('table', ...): published values that narrow a quasi-identifier below what its class publishes. It shows
    raw values: for the custodian, before anything is released. Two sets are compared for a value v of an unchanged
    column and a class that publishes v: the original values that lie within what the class publishes, and those of them
    that records with v have anywhere in the table. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'shared/record_assignment.sql' import usable with context -%}
{%- from 'release/plan/number_column.sql' import width, interval_text with context -%}
{% include 'release/plan/pipeline.sql' %}
{% for q in quasi %}
{% if q.is_number %}
-- One row per value of the number: its rank, and the key that is compared with interval bounds.
, {{ 'order'|of(q) }} AS MATERIALIZED (
    SELECT value, value::{{ q.ends.type }} AS key, row_number() OVER (ORDER BY value ASC) AS place
    FROM (SELECT DISTINCT {{ q.column }} AS value FROM {{ usable() }} WHERE {{ q.column }} IS NOT NULL)
)
-- One row per class: the ranks of the first and last value that its interval covers. A class without an interval covers
-- all values and NULL.
, {{ 'scope'|of(q) }} AS MATERIALIZED (
    SELECT
        x.class_id, x.published, x.low_end IS NULL AS is_open,
        coalesce(f.place, 1) AS first, coalesce(l.place, x.places) AS last,
        {{ width(q, sql('coalesce(x.high_end, x.high_key)'), sql('coalesce(x.low_end, x.low_key)')) }} AS span
    FROM (
        SELECT
            c.class_id, k.*,
            {% if typed %}{{ interval_text(q, sql('c.low'), sql('c.high')) }}\
                {% else %}c.published{% endif %} AS published,
            {# Beyond top and bottom an interval reaches to the last value there is. #}
            {% if q.bottom %}CASE WHEN c.low <= {{ q.bottom }} THEN least(c.low, k.low_key) \
                ELSE c.low END{% else %}c.low{% endif %} AS low_end,
            {% if q.top %}CASE WHEN c.high >= {{ q.top }} THEN greatest(c.high, k.high_key) \
                ELSE c.high END{% else %}c.high{% endif %} AS high_end
        FROM (
            SELECT DISTINCT class_id, {{ 'low'|of(q) }} AS low, {{ 'high'|of(q) }} AS high{% if not typed %}, \
                {{ 'published'|of(q) }} AS published{% endif %}
            FROM generalized_spans
            {% if not typed %}WHERE {{ 'published'|of(q) }} IS NOT NULL{% endif %}
        ) AS c
        CROSS JOIN (SELECT min(key) AS low_key, max(key) AS high_key, count(*) AS places FROM {{ 'order'|of(q) }}) AS k
    ) AS x
    ASOF LEFT JOIN (SELECT key, min(place) AS place FROM {{ 'order'|of(q) }} GROUP BY key) AS f ON x.low_end <= f.key
    ASOF LEFT JOIN (SELECT key, max(place) AS place FROM {{ 'order'|of(q) }} GROUP BY key) AS l ON x.high_end >= l.key
)
{% else %}
-- One row per published node and value below it. `*` may also be published for NULL.
, {{ 'nodes'|of(q) }} AS MATERIALIZED (
    SELECT published, value, count(*) OVER (PARTITION BY published) AS n_covered_values
    FROM (
        SELECT t.published, v.value
        FROM (
            SELECT c.value, unnest(n.line) AS node
            FROM value_codes AS c
            JOIN nodes AS n ON n.tree = c.tree AND n.node = c.own
            WHERE c.tree = {{ q.tree }}
        ) AS v
        JOIN nodes AS t ON t.tree = {{ q.tree }} AND t.node = v.node
        UNION
        SELECT '*' COLLATE POSIX, {{ q.column }} FROM {{ usable() }}
    )
    WHERE published IN (SELECT {{ 'published'|of(q) }} FROM published_classes WHERE {{ 'published'|of(q) }} IS NOT NULL)
)
{% endif %}
{% endfor %}
{% for u in unchanged %}
-- One row per value that enough records (persons) have, numbered.
, {{ 'common values'|of(u) }} AS MATERIALIZED (
    SELECT row_number() OVER () AS vid, value
    FROM (
        SELECT {{ u.column }} AS value FROM {{ usable() }} GROUP BY {{ u.column }}
        HAVING {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} >= {{ support }}
    )
)
-- One row per class and one of these values: how many records.
, {{ 'classes'|of(u) }} AS MATERIALIZED (
    SELECT r.class_id, c.vid, sum(r.size)::BIGINT AS size
    FROM released_values AS r
    JOIN {{ 'common values'|of(u) }} AS c ON c.value IS NOT DISTINCT FROM r.{{ u.column }}
    GROUP BY r.class_id, c.vid
)
{% for q in quasi %}
-- One row per pair of values of the two columns that occurs in the table.
, {{ 'taken'|of(u, q) }} AS MATERIALIZED (
    SELECT c.vid, {% if q.is_number %}p.place{% else %}s.value{% endif %}
    FROM (SELECT DISTINCT {{ u.column }} AS carried, {{ q.column }} AS value FROM {{ usable() }}) AS s
    JOIN {{ 'common values'|of(u) }} AS c ON c.value IS NOT DISTINCT FROM s.carried
    {% if q.is_number %}LEFT JOIN {{ 'order'|of(q) }} AS p ON p.value = s.value{% endif %}
)
-- One row per value of the one column and published value of the other: the originals that it covers, and those that
-- remain possible.
, {{ 'possible_values'|of(u, q) }} AS (
    {% if q.is_number %}
    SELECT
        vid, first, last, span, is_open, n_covered_values, n_possible_values,
        CASE WHEN low_place IS NULL THEN []::VARCHAR[]
            WHEN low_place = high_place THEN [low_value]
            ELSE ['[' || low_value || ', ' || high_value || ']']
        END || CASE WHEN has_null THEN [NULL::VARCHAR] ELSE [] END AS possible_values
    FROM (
        SELECT
            x.*, low.key AS low_key, high.key AS high_key, low.value::VARCHAR AS low_value, \
            high.value::VARCHAR AS high_value,
            x.last - x.first + 1 + (x.is_open \
                AND (SELECT count({{ q.column }}) < count(*) FROM {{ usable() }}))::BIGINT AS n_covered_values,
            coalesce(x.high_place - x.low_place + 1, 0) + x.has_null::BIGINT AS n_possible_values
        FROM (
            SELECT p.*, a.place AS low_place, b.place AS high_place, p.is_open AND n.vid IS NOT NULL AS has_null
            FROM (
                SELECT DISTINCT h.vid, s.first, s.last, s.span, s.is_open
                FROM {{ 'classes'|of(u) }} AS h JOIN {{ 'scope'|of(q) }} AS s USING (class_id)
            ) AS p
            ASOF LEFT JOIN (FROM {{ 'taken'|of(u, q) }} WHERE place IS NOT NULL) AS a ON a.vid = p.vid \
                AND p.first <= a.place
            ASOF LEFT JOIN (FROM {{ 'taken'|of(u, q) }} WHERE place IS NOT NULL) AS b ON b.vid = p.vid \
                AND p.last >= b.place
            LEFT JOIN (FROM {{ 'taken'|of(u, q) }} WHERE place IS NULL) AS n ON n.vid = p.vid
        ) AS x
        LEFT JOIN {{ 'order'|of(q) }} AS low ON low.place = x.low_place
        LEFT JOIN {{ 'order'|of(q) }} AS high ON high.place = x.high_place
    )
    {# A sample always ends a little before its population: less than half of the width is what counts. #}
    WHERE n_possible_values < n_covered_values \
        AND coalesce({{ width(q, sql('high_key'), sql('low_key')) }} < span / 2, true)
    {% else %}
    SELECT
        t.vid, x.published, any_value(x.n_covered_values) AS n_covered_values, count(*) AS n_possible_values,
        list(x.value::VARCHAR ORDER BY x.value ASC NULLS LAST) AS possible_values
    FROM {{ 'taken'|of(u, q) }} AS t
    JOIN {{ 'nodes'|of(q) }} AS x ON x.value IS NOT DISTINCT FROM t.value
    GROUP BY t.vid, x.published
    HAVING count(*) < any_value(x.n_covered_values)
    {% endif %}
)
{% endfor %}
{% endfor %}
FROM (
    {# The columns, also where nothing is published unchanged. #}
    SELECT
        class_id::BIGINT AS class_id, '' AS column_name, '' AS value, 0::BIGINT AS size, '' AS quasi, '' AS published,
        []::VARCHAR[] AS possible_values, 0::BIGINT AS n_covered_values, 0::BIGINT AS n_possible_values
    FROM published_classes
    WHERE class_id IS NULL
    {% for u in unchanged %}
    {% for q in quasi %}
    UNION ALL
    SELECT
        h.class_id, {{ u.label }}, {{ form.label_of(sql('c.value')) }}, h.size, {{ q.label }}, s.published, \
        x.possible_values, x.n_covered_values, x.n_possible_values
    FROM {{ 'classes'|of(u) }} AS h
    JOIN {{ 'common values'|of(u) }} AS c ON c.vid = h.vid
    {% if q.is_number %}
    JOIN {{ 'scope'|of(q) }} AS s ON s.class_id = h.class_id
    JOIN {{ 'possible_values'|of(u, q) }} AS x
        ON x.vid = h.vid AND x.first = s.first AND x.last = s.last AND x.span = s.span AND x.is_open = s.is_open
    {% else %}
    JOIN (SELECT class_id, {{ 'published'|of(q) }} AS published FROM published_classes) AS s ON s.class_id = h.class_id
    JOIN {{ 'possible_values'|of(u, q) }} AS x ON x.vid = h.vid AND x.published = s.published
    {% endif %}
    {% endfor %}
    {% endfor %}
)
WHERE (SELECT passed FROM gate)
ORDER BY n_possible_values / n_covered_values ASC, size DESC, class_id ASC, column_name ASC, value ASC NULLS LAST, \
quasi ASC
