{#- People of two releases and their candidate sets over both: the people who share both of their classes, and the sensitive
    values that both classes have. `alone`: also who is in one of them only, with those of the same class who are, and the
    sensitive values of these. A row a person where a set is too small. For the custodian: it shows person keys. -#}
WITH
{% for side in ('a', 'b') %}
{% set side = sql(side) %}
of_{{ side }} AS MATERIALIZED (
    SELECT DISTINCT person_key, class_id FROM {{ members[side] }} WHERE person_key IS NOT NULL AND class_id IS NOT NULL
),
{% endfor %}
pair AS MATERIALIZED (
    SELECT a.person_key, a.class_id AS class_a, b.class_id AS class_b
    FROM of_a AS a JOIN of_b AS b USING (person_key)
),
candidates AS (SELECT class_a, class_b, count(DISTINCT person_key) AS candidates FROM pair GROUP BY ALL),
{% for s in shared %}
left_{{ s.i }} AS MATERIALIZED (
    SELECT x.class_a, x.class_b, count(*) AS remaining
    FROM candidates AS x
    JOIN (SELECT DISTINCT class_id, cells[{{ s.a }}] AS value FROM {{ members.a }}) AS v ON v.class_id = x.class_a
    JOIN (SELECT DISTINCT class_id, cells[{{ s.b }}] AS value FROM {{ members.b }}) AS w ON w.class_id = x.class_b AND w.value = v.value
    GROUP BY ALL
),
{% endfor %}
{% for side, other in (('a', 'b'), ('b', 'a')) if alone %}
{% set side = sql(side) %}{% set other = sql(other) %}
alone_{{ side }} AS MATERIALIZED (SELECT * FROM of_{{ side }} WHERE person_key NOT IN (SELECT person_key FROM of_{{ other }})),
apart_{{ side }} AS (
    SELECT class_id, count(DISTINCT person_key) AS candidates, {% if own[side] %}least({% for i in own[side] %}count(DISTINCT m.cells[{{ i }}]){% if not loop.last %}, {% endif %}{% endfor %}){% else %}NULL::BIGINT{% endif %} AS sensitive_values
    FROM {{ members[side] }} AS m
    JOIN alone_{{ side }} USING (person_key, class_id)
    GROUP BY class_id
),
{% endfor %}
judged AS (
    SELECT
        c.*,
        {% if shared %}least({% for s in shared %}coalesce(v{{ s.i }}.remaining, 0){% if not loop.last %}, {% endif %}{% endfor %}){% else %}NULL::BIGINT{% endif %} AS sensitive_values
    FROM candidates AS c
    {% for s in shared %}
    LEFT JOIN left_{{ s.i }} AS v{{ s.i }} USING (class_a, class_b)
    {% endfor %}
),
found AS (
    SELECT p.person_key, p.class_a, p.class_b, j.candidates, {{ k }}::INTEGER AS k, j.sensitive_values, {{ l }}::INTEGER AS l
    FROM pair AS p
    JOIN judged AS j USING (class_a, class_b)
    {% for side in ('a', 'b') if alone %}
    {% set side = sql(side) %}
    UNION ALL
    SELECT
        p.person_key, {% if side == 'a' %}p.class_id, NULL{% else %}NULL, p.class_id{% endif %}, j.candidates, {{ k }}::INTEGER,
        j.sensitive_values, {{ least[side] }}::INTEGER
    FROM alone_{{ side }} AS p
    JOIN apart_{{ side }} AS j USING (class_id)
    {% endfor %}
)
SELECT *
FROM found
WHERE candidates < k OR coalesce(sensitive_values < l, false)
ORDER BY candidates ASC, person_key ASC, class_a ASC NULLS LAST, class_b ASC NULLS LAST
