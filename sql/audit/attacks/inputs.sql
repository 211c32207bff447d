{#- What all attacks begin with: the classes of the release, the people of the source, and which classes each of them may
    be in as far as their quasi-identifiers tell: pairs (tid, class_id). Sensitive values are texts here. -#}
{%- from 'audit/query_error/random_queries.sql' import reading, unfit, moved -%}
{%- from 'release/plan/hierarchy_preorder.sql' import walk -%}
{%- from 'audit/risk/published_cells.sql' import raw_cells, ends_of, inside -%}
{%- from 'audit/attacks/sample.sql' import drawn_of with context -%}
{% include 'audit/anonymity/inputs.sql' %},
-- A row a class: what it publishes.
told_cells AS MATERIALIZED (SELECT {% for q in quasi %}q{{ loop.index0 }} AS p{{ loop.index0 }}{% if not loop.last %}, {% endif %}{% endfor %} FROM classes),
-- A row a combination of raw values: how many records have it.
true_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}{{ c.value }} AS v{{ c.i }}, {% endfor %}
        {% for s in sensitive %}{{ s.true_value }} AS s{{ s.i }}, {% endfor %}
        {{ who }} AS who, count(*) AS records
    FROM {{ people }}
    GROUP BY ALL
),
{% for c in attributes %}
{{ reading(c) }}
{% endfor %}
-- A row a class: the least and the greatest value that each column may have.
class_ends AS MATERIALIZED ({{ ends_of(attributes, sql('classes')) }}),
-- A row a combination of raw values, as numbers. Missing values are -infinity.
coded AS MATERIALIZED (
    SELECT
        {% for c in attributes %}coalesce({% if c.is_number %}t.v{{ c.i }}{% else %}l{{ c.i }}.place{% endif %}, '-inf'::DOUBLE) AS v{{ c.i }}, {% endfor %}
        {% for s in sensitive %}t.s{{ s.i }}, {% endfor %}t.who, t.records
    FROM true_cells AS t
    {% for c in attributes if not c.is_number %}
    LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
    {% endfor %}
),
{% if tried == 'drawn' %}
{{ drawn_of(sql('coded'), attributes, sensitive) }}
{% endif %}
-- A row a combination of quasi-identifiers, numbered.
tuples AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY {% for c in attributes %}v{{ c.i }} ASC NULLS LAST{% if not loop.last %}, {% endif %}{% endfor %}) AS tid, *
    FROM (SELECT DISTINCT {% for c in attributes %}v{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %} FROM {{ tried }})
),
-- A row a combination of raw values and its quasi-identifiers' number.
people AS MATERIALIZED (
    SELECT t.tid, e.*
    FROM {{ tried }} AS e
    JOIN tuples AS t ON {% for c in attributes %}{% if not loop.first %} AND {% endif %}t.v{{ c.i }} = e.v{{ c.i }}{% endfor %}
),
-- A row a combination of quasi-identifiers and a class that it may be in.
pairs AS MATERIALIZED (
    SELECT t.tid, k.class_id
    FROM tuples AS t
    CROSS JOIN class_ends AS k
    WHERE {{ inside(attributes) }}

),
{% if others %}
-- A row a class: what it publishes of the columns of the register.
other_told AS MATERIALIZED (SELECT {% for c in others %}q{{ c.qi_index }} AS p{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %} FROM classes),
-- A row a combination of values of the register: how many people have it.
other_cells AS MATERIALIZED (
    SELECT {% for c in others %}{{ c.value }} AS v{{ c.i }}, {% endfor %}{% for s in sensitive if s.other_value %}{{ s.other_value }} AS s{{ s.i }}, {% endfor %}{{ other_who }} AS who, count(*) AS records
    FROM {{ register }}
    GROUP BY ALL
),
{% for c in others %}
{{ reading(c) }}
{% endfor %}
{% endif %}
{% for s in sensitive if s.nodes and kind == 'similarity' %}
{{ walk({'raw_name': s.raw_name, 'rows': s.nodes}) }}
{% endfor %}
-- One row: the first reason why the tables do not fit together, or NULL.
misfit AS MATERIALIZED (
    SELECT coalesce(
        {{ moved(sources) }}
        CASE WHEN NOT EXISTS (FROM true_cells) THEN {{ say.empty_source }} END,
        {% for c in attributes %}
        {{ unfit(c) }}
        {% endfor %}
        {% for c in others %}
        {{ unfit(c) }}
        {% endfor %}
        {% for s in sensitive if s.nodes and kind == 'similarity' %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ s.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'preorder'|of(s) }}) THEN {{ s.say.unreachable }}
            END FROM {{ 'hierarchy'|of(s) }}),
        (SELECT CASE WHEN uncovered > 0 THEN {{ s.say.uncovered }} END FROM (
            SELECT count(*) AS uncovered
            FROM {{ 'overall'|of(s) }} WHERE value IS NOT NULL AND value NOT IN (SELECT label FROM {{ 'preorder'|of(s) }} WHERE is_leaf))),
        {% endfor %}
        (SELECT message FROM problem)
    ) AS message
),
{% for s in sensitive %}
-- One row: The release's most frequent value: what anybody would guess.
{{ 'mode'|of(s) }} AS MATERIALIZED (
    SELECT value, size::DOUBLE / (SELECT sum(size) FROM {{ 'overall'|of(s) }}) AS share
    FROM {{ 'overall'|of(s) }}
    WHERE value IS NOT NULL
    ORDER BY size DESC, value ASC
    LIMIT 1
),
{% endfor %}
