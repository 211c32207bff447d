{#- What a new version shows beside all that were published before it of the same people. A record is somebody's published
    value (who, value_hash, and which of those that are alike; within classes it is what counts of the record that
    matters, not who it is about, since which of two that are alike is in which class is not told); in a set of
    records (everybody; those who are published alike; a cluster that was kept) its presence in each earlier version
    is a signature, and records of one signature are an atom. Only atoms can be told apart by adding and subtracting
    versions, whichever and however many: if all of them meet the model, whatever is computed from the versions
    follows from a release with the atoms as classes, which would be allowed. So the new version may split an atom
    only into parts that meet the model, and records that are new must meet it too. (Signed combinations of versions
    ask for less, since not every atom can be had alone, but they are 3^n.) What was told apart before is not told
    apart anew and stops nothing. `linked`: two versions only, and the sets are classes of both that hang together by
    records that are in both, whose sums can be subtracted. `refined`: the same for the classes that a record was in, version by version,
    instead of its mere presence: then nothing at all is narrowed by holding versions together. A row for each
    signature whose parts fail: bits of the versions that had it, whether the new one has it, how many sets, people
    and which parameters. It shares no step with what made the versions. -#}
{%- from 'release/plan/row_identity.sql' import value_hash, cells with context -%}
{% macro before() -%}{% for c in chunks %}before{{ loop.index0 }}, {% endfor %}{%- endmacro %}
WITH RECURSIVE
shown AS MATERIALIZED (
    {% for v in versions %}
    {% if not loop.first %}UNION ALL{% endif %}
    SELECT
        {{ v.i }} AS version, {{ who }} AS who, {{ alike }} AS alike, {{ v.value }} AS value_hash, class_id, label_hash,
        {% if v.lineage is none %}NULL::HUGEINT{% else %}cluster_id::HUGEINT + 4294967296::HUGEINT * {{ v.lineage }}{% endif %} AS lineage,
        {% if linked %}linked, {% endif %}sum(records)::BIGINT AS records
    FROM {{ v.members }}
    {% if linked %}
    LEFT JOIN (SELECT unnest($classes{{ v.i }}::BIGINT[]) AS class_id, unnest($numbers{{ v.i }}::BIGINT[]) AS linked) USING (class_id)
    {% endif %}
    WHERE class_id IS NOT NULL
    GROUP BY ALL
    {% endfor %}
),
{% if refined %}
of_set AS (
    SELECT 'refined' AS kind, 0::HUGEINT AS set_id, version, who, value_hash, class_id, records,
        (sum(records) OVER (PARTITION BY version, who, value_hash ORDER BY class_id ASC))::BIGINT - records AS start
    FROM (SELECT version, alike AS who, value_hash, class_id, sum(records)::BIGINT AS records FROM shown GROUP BY ALL)
),
{% else %}
of_set AS (
    SELECT 'whole' AS kind, 0::HUGEINT AS set_id, version, who, value_hash, 0 AS class_id, sum(records)::BIGINT AS records, 0 AS start
    FROM shown
    GROUP BY version, who, value_hash
    {% for kind, id in ((('linked', 'linked'),) if linked else (('label', 'label_hash'), ('lineage', 'lineage'))) %}
    UNION ALL
    SELECT '{{ sql(kind) }}', {{ sql(id) }}::HUGEINT AS set_id, version, alike, value_hash, 0, sum(records)::BIGINT, 0
    FROM shown
    WHERE {{ sql(id) }} IN (SELECT {{ sql(id) }} FROM shown WHERE version = {{ last }})
        AND {{ sql(id) }} IN (SELECT {{ sql(id) }} FROM shown WHERE version < {{ last }})
    GROUP BY version, alike, value_hash, {{ sql(id) }}
    {% endfor %}
),
{% endif %}
seen AS MATERIALIZED (
    SELECT
        kind, who, value_hash, set_id{% if refined %} + sum(CASE WHEN version < {{ last }} THEN hash(version, class_id)::HUGEINT ELSE 0 END){% endif %} AS id,
        {% for c in chunks %}
        sum(CASE WHEN version BETWEEN {{ c.first }} AND {{ c.last }} THEN 1::BIGINT << (version - {{ c.first }})::BIGINT ELSE 0 END)::BIGINT AS before{{ loop.index0 }},
        {% endfor %}
        max(CASE WHEN version = {{ last }} THEN class_id END) AS now
    FROM (SELECT *, unnest(range(start, start + records)) AS layer FROM of_set)
    GROUP BY kind, set_id, who, value_hash, layer
),
parent AS (
    SELECT kind, id, {{ before() }}count(DISTINCT now) + (count(*) > count(now))::INTEGER > 1 AS split
    FROM seen
    GROUP BY kind, id, {{ before() }}true
),
part AS MATERIALIZED (
    SELECT dense_rank() OVER (ORDER BY kind ASC, id ASC, {{ before() }}now ASC NULLS LAST) AS class_id, *
    FROM seen
    JOIN parent USING ({{ before() }}kind, id)
    WHERE (split OR {% for c in chunks %}{% if not loop.first %} AND {% endif %}before{{ loop.index0 }} = 0{% endfor %})
        {% if side %}AND {{ side }}{% endif %}
        {% if linked %}AND kind <> 'whole'{% endif %}
),
piece AS MATERIALIZED (
    SELECT class_id, value_hash, {% if person %}who AS person, {% endif %}count(*)::BIGINT AS size FROM part GROUP BY ALL
),
value_of AS MATERIALIZED (
    SELECT {% if exact %}{{ value_hash(sql(''), true) }}{% elif unchanged %}md5_number_lower({{ cells(sql(''), true) }}::VARCHAR){% else %}0::UBIGINT{% endif %} AS value_hash
        {% for u in unchanged %}, any_value({{ u.name }}) AS {{ u.column }}{% endfor %}
    FROM (
        {% for t in known %}
        {% if not loop.first %}UNION ALL BY NAME{% endif %}
        SELECT {% for u in unchanged %}{{ u.name }}, {% endfor %}true AS is_known FROM {{ t }}
        {% endfor %}
    )
    GROUP BY value_hash
),
{#- A set is compared with the records of the new version, or, if it went, with those that were there before. -#}
{% set compared %}
    SELECT {% if person %}who AS person{% endif %}{% for u in unchanged %}{% if person or not loop.first %}, {% endif %}v.{{ u.column }}{% endfor %}
    FROM seen
    JOIN value_of AS v USING (value_hash)
    WHERE kind IN ('whole', 'refined') AND {% if side == sql('now IS NULL') %}({% for c in chunks %}{% if not loop.first %} OR {% endif %}before{{ loop.index0 }} <> 0{% endfor %}){% else %}now IS NOT NULL{% endif %}
{% endset %}
{% include 'ledger/composition/class_differences.sql' %}
SELECT kind, [{{ before() }}]::BIGINT[] AS before, is_new, count(*)::BIGINT AS sets, sum(people)::BIGINT AS people, list_sort(list_distinct(flatten(list(missed))), 'ASC', 'NULLS LAST') AS missed
FROM (SELECT class_id, list(DISTINCT parameter) AS missed FROM failed GROUP BY class_id)
JOIN (SELECT DISTINCT class_id, kind, {{ before() }}now IS NOT NULL AS is_new FROM part) USING (class_id)
JOIN (SELECT class_id, {% if person %}greatest(persons, 1){% else %}records{% endif %} AS people FROM count_of) USING (class_id)
GROUP BY kind, is_new, {{ before() }}true
ORDER BY kind ASC, is_new ASC, before ASC
