{#- People of two releases and their candidate sets over both: the people who share both of their classes, and the
    sensitive values that both classes have. `alone`: also people who are in one release only, with those of the same
    class who are in it only, too, and the sensitive values of these. One row per person whose set is too small. For the
    custodian: it shows person keys. -#}
WITH
{% for side in ('a', 'b') %}
{% set side = sql(side) %}
-- One row per person and class of a release.
members_{{ side }} AS MATERIALIZED (
    SELECT DISTINCT person_key, class_id
    FROM {{ members[side] }}
    WHERE person_key IS NOT NULL AND class_id IS NOT NULL
),
{% endfor %}
-- One row per person in both releases and pair of classes.
class_pairs AS MATERIALIZED (
    SELECT a.person_key, a.class_id AS class_a, b.class_id AS class_b
    FROM members_a AS a
    JOIN members_b AS b USING (person_key)
),
-- One row per pair of classes: how many persons it has.
candidate_counts AS (
    SELECT class_a, class_b, count(DISTINCT person_key) AS candidates FROM class_pairs GROUP BY ALL
),
{% for s in shared %}
-- One row per pair of classes: how many values of a sensitive column both have.
{{ 'common values'|of(s) }} AS MATERIALIZED (
    SELECT c.class_a, c.class_b, count(*) AS common_values
    FROM candidate_counts AS c
    JOIN (
        SELECT DISTINCT class_id, cells[{{ s.a }}] AS value FROM {{ members.a }}
    ) AS a ON a.class_id = c.class_a
    JOIN (
        SELECT DISTINCT class_id, cells[{{ s.b }}] AS value FROM {{ members.b }}
    ) AS b ON b.class_id = c.class_b AND b.value = a.value
    GROUP BY ALL
),
{% endfor %}
{% for side, other in (('a', 'b'), ('b', 'a')) if alone %}
{% set side = sql(side) %}
{% set other = sql(other) %}
-- One row per person and class of a release, of persons who are not in the other one.
unshared_members_{{ side }} AS MATERIALIZED (
    SELECT * FROM members_{{ side }} WHERE person_key NOT IN (SELECT person_key FROM members_{{ other }})
),
-- One row per class: how many of these persons it has, and how many sensitive values they have.
unshared_candidates_{{ side }} AS (
    SELECT
        class_id, count(DISTINCT person_key) AS candidates,
        {% if own[side] %}
        least(
            {% for i in own[side] %}
            count(DISTINCT m.cells[{{ i }}]){{ sql(',') if not loop.last }}
            {% endfor %}
        ) AS sensitive_values
        {% else %}
        NULL::BIGINT AS sensitive_values
        {% endif %}
    FROM {{ members[side] }} AS m
    JOIN unshared_members_{{ side }} USING (person_key, class_id)
    GROUP BY class_id
),
{% endfor %}
-- One row per pair of classes: how many persons and sensitive values it has.
class_pair_counts AS (
    SELECT
        c.*,
        {% if shared %}
        least(
            {% for s in shared %}
            coalesce({{ 'common values'|of(s) }}.common_values, 0){{ sql(',') if not loop.last }}
            {% endfor %}
        ) AS sensitive_values
        {% else %}
        NULL::BIGINT AS sensitive_values
        {% endif %}
    FROM candidate_counts AS c
    {% for s in shared %}
    LEFT JOIN {{ 'common values'|of(s) }} USING (class_a, class_b)
    {% endfor %}
),
-- One row per person and pair of classes, or class of one release: its candidate set and what it needs.
candidate_sets AS (
    SELECT
        p.person_key, p.class_a, p.class_b, c.candidates, {{ k }}::INTEGER AS k,
        c.sensitive_values, {{ l }}::INTEGER AS l
    FROM class_pairs AS p
    JOIN class_pair_counts AS c USING (class_a, class_b)
    {% for side in ('a', 'b') if alone %}
    {% set side = sql(side) %}
    UNION ALL
    SELECT
        p.person_key, {% if side == 'a' %}p.class_id, NULL{% else %}NULL, p.class_id{% endif %}, c.candidates,
        {{ k }}::INTEGER, c.sensitive_values, {{ least[side] }}::INTEGER
    FROM unshared_members_{{ side }} AS p
    JOIN unshared_candidates_{{ side }} AS c USING (class_id)
    {% endfor %}
)
SELECT *
FROM candidate_sets
WHERE candidates < k OR coalesce(sensitive_values < l, false)
ORDER BY candidates ASC, person_key ASC, class_a ASC NULLS LAST, class_b ASC NULLS LAST
