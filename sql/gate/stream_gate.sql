{#- The gate of a stream. It replays the publication: when a class is first seen it must have k records (persons) and
    enough values of each sensitive column. Records that join later remove none, so the class meets this at every later
    moment. Each record of the source is published once, in time, in a class that covers it, or is suppressed with all
    of its values. The order of arrival, the values and the policy are read again, and no step is shared with the code
    that made the rows. -#}
{%- from 'gate/covered_values.sql' import uncovered_values with context -%}
{%- from 'gate/policy_conformance.sql' import keeps_typed with context -%}
{%- from 'gate/reread_check.sql' import seal with context -%}
{%- from 'gate/stream_seen_ranges.sql' import reaches_beyond with context -%}
-- Chapter 4, check: the release gate checks the published rows against the policy, the stored hierarchies and the
-- source, which it reads a second time. No row is published if a check fails.
-- One row per published record, with its values in the source.
replayed_records AS MATERIALIZED (
    SELECT
        v.{{ stream.arrived_at }} AS arrived_at, v.{{ stream.published_at }} AS published_at, \
        v.{{ stream.delay }} AS delay,
        v.{{ stream.suppressed }} AS suppressed, v.{{ class_id }} AS class_id, s.rid IS NULL AS is_strange
        {% for q in quasi %}, s.{{ q.column }}{% endfor %}
        {% if person %}, s.person{% else %}, s.rid AS person{% endif %}
        {% for s in model_columns %}, s.{{ s.column }} AS {{ 'code'|of(s) }}{% endfor %}
        {% if unchanged %}
        , {{ differs(sql('v.'), sql('s.')) }} AS differs
        , ({% for u in unchanged %}{% if not loop.first %} OR {% endif %}v.{{ u.name }} \
            IS NOT NULL{% endfor %}) AS is_revealing
        {% else %}
        , false AS differs, false AS is_revealing
        {% endif %}
    FROM published_rows AS v
    LEFT JOIN source AS s ON s.rid = v.{{ stream.arrived_at }}
),
-- One row per class and combination of original values: how many records have it.
class_originals AS MATERIALIZED (
    SELECT class_id{% for q in quasi %}, {{ q.column }}{% endfor %}, count(*) AS size
    FROM replayed_records
    WHERE NOT suppressed
    GROUP BY ALL
),
{% include 'gate/allowed_ancestors.sql' %}
-- One row per class: its published values and number of records, according to the published rows.
regrouped_classes AS MATERIALIZED (
    SELECT
        {{ class_id }} AS class_id, count(*) AS size
        {% for r in rules %}
        {% if r.is_number and typed %}, {{ r.ends.low }} AS {{ 'low'|of(r) }}, \
            {{ r.ends.high }} AS {{ 'high'|of(r) }}{% else %}, {{ r.text }} AS {{ 'published'|of(r) }}{% endif %}
        {% endfor %}
    FROM published_rows
    WHERE NOT {{ stream.suppressed }}
    GROUP BY ALL
),
-- One row per combination of values that suppressed records are published with: how many records.
noisy_records AS MATERIALIZED (
    SELECT
        count(*) AS size
        {% for r in rules %}
        {% if r.is_number and typed %}, {{ r.ends.low }} AS {{ 'low'|of(r) }}, \
            {{ r.ends.high }} AS {{ 'high'|of(r) }}{% else %}, {{ r.text }} AS {{ 'published'|of(r) }}{% endif %}
        {% endfor %}
    FROM published_rows
    WHERE {{ stream.suppressed }}
    GROUP BY ALL
),
{% include 'gate/parsed_intervals.sql' %}
-- One row per class: the persons and values that it has when it is first published.
first_seen AS MATERIALIZED (
    SELECT
        r.class_id, count(DISTINCT r.person) AS persons
        {% for s in model_columns %}, count(DISTINCT r.{{ 'code'|of(s) }}) \
            FILTER (WHERE r.person IS NOT NULL) AS {{ 'values'|of(s) }}{% endfor %}
    FROM replayed_records AS r
    JOIN (
        SELECT class_id, min(published_at) AS published_at FROM replayed_records WHERE NOT suppressed GROUP BY class_id
    ) AS f ON f.class_id = r.class_id AND f.published_at = r.published_at
    GROUP BY r.class_id
),
{% set numbers = rules|selectattr('is_number')|list %}
{% if numbers %}
-- One row per class: the least and greatest value of the records that it was first published with.
first_values AS MATERIALIZED (
    SELECT class_id{% for r in numbers %}, min({{ r.column }}) AS {{ 'least'|of(r) }}, \
        max({{ r.column }}) AS {{ 'greatest'|of(r) }}{% endfor +%}
    FROM (SELECT *, min(published_at) OVER (PARTITION BY class_id) AS begun FROM replayed_records WHERE NOT suppressed)
    WHERE published_at = begun
    GROUP BY class_id
),
{% endif %}
-- One row: true, or an error. The published rows are compared with the source and the policy; no row is published
-- before this is read.
gate AS MATERIALIZED (
    SELECT CASE
        WHEN (SELECT struct_keys({{ row_alias }}) FROM (FROM published_rows LIMIT 1) AS {{ row_alias }}) \
            <> {{ published_names }} THEN error({{ gate_say.columns }})
        WHEN reread.differs THEN error({{ gate_say.reread }})
        WHEN counted.strange > 0 OR counted.records <> counted.different THEN error({{ gate_say.untrue }})
        WHEN counted.records{% if stream.drops_suppressed %} + dropped.records{% endif %}\
            {% if continuation is defined %} + waits.records{% endif %} <> reread.records \
            THEN error({{ gate_say.lost }})
        WHEN earlier.records > 0 THEN error({{ gate_say.arrival }})
        WHEN counted.late{% if continuation is defined %} + waits.late{% endif %} > 0 THEN error({{ gate_say.late }})
        {% if stream.limits_pending %}
        WHEN crowded.moments > 0 THEN error({{ gate_say.crowded }})
        {% endif %}
        WHEN counted.untrue > 0 THEN error({{ gate_say.untrue }})
        WHEN counted.unknown > 0 THEN error({{ gate_say.unknown }})
        WHEN coalesce(shown.records, 0) > 0 THEN error({{ gate_say.shown }})
        WHEN classes.small > 0 THEN error({{ gate_say.small }})
        WHEN classes.confused > 0 THEN error({{ gate_say.confused }})
        WHEN covered.uncovered{% if stream.maybe_match %} + invented.records{% endif %} > 0 \
            THEN error({{ gate_say.uncovered }})
        {% if numbers %}
        WHEN reached.classes > 0 THEN error({{ gate_say.beyond }})
        {% endif %}
        WHEN classes.finer > 0 THEN error({{ gate_say.finer }})
        {% for s in model_columns %}{% for m in s.models %}
        WHEN judged.{{ ('violations of ' ~ m.parameter)|of(m) }} > 0 THEN error({{ gate_say['model' ~ m.number] }})
        {% endfor %}{% endfor %}
        ELSE true
    END AS passed
    FROM (
        SELECT
            count(*) AS records, count(DISTINCT arrived_at) AS different,
            count(*) FILTER (WHERE is_strange) AS strange,
            count(*) FILTER (WHERE NOT coalesce(
                delay = published_at - arrived_at AND delay >= 0 \
                    {% if not stream.limits_pending %}AND delay < {{ stream.delta }} {% endif %}\
                    AND published_at <= {% if continuation is defined %}{{ continuation.n_before }} + (SELECT count(*) \
                    FROM source WHERE rid > {{ continuation.n_before }}){% else %}(SELECT count(*) \
                    FROM source){% endif %}, false
            )) AS late,
            count(*) FILTER (WHERE CASE WHEN suppressed THEN is_revealing ELSE differs END) AS untrue,
            count(*) FILTER (WHERE suppressed IS DISTINCT FROM (class_id IS NULL)) AS unknown
        FROM replayed_records
    ) AS counted,
    {% if stream.drops_suppressed %}
    (SELECT count(*) AS records FROM record_classes WHERE class_id = -1) AS dropped,
    {% endif %}
    {% if stream.limits_pending %}
    (
        {# A moment is the number of records that have arrived. Suppressed records without rows are not counted. #}
        SELECT count(*) AS moments
        FROM (
            SELECT sum(sum(change)) OVER (ORDER BY moment ASC) AS pending
            FROM (
                SELECT arrived_at AS moment, 1 AS change FROM replayed_records
                UNION ALL
                SELECT published_at, -1 FROM replayed_records
                {% if continuation is defined %}
                UNION ALL
                SELECT rid, 1 FROM departures WHERE cluster = -2
                {% endif %}
            )
            GROUP BY moment
        )
        WHERE pending >= {{ stream.delta }}
    ) AS crowded,
    {% endif %}
    {% if continuation is defined %}
    {# Nobody waits twice, or once the last moment has come. #}
    (
        SELECT count(DISTINCT l.rid) AS records, count(*) - count(DISTINCT l.rid) + count(*) \
            FILTER (WHERE {% if not stream.limits_pending %}n.arrived - l.rid + 1 >= {{ stream.delta }} \
            OR {% endif %}v.arrived_at IS NOT NULL) AS late
        FROM departures AS l
        CROSS JOIN (SELECT coalesce(max(rid), 0) AS arrived FROM source) AS n
        LEFT JOIN replayed_records AS v ON v.arrived_at = l.rid
        WHERE l.cluster = -2
    ) AS waits,
    {% endif %}
    (
        SELECT first.records <> second.records OR first.seal IS DISTINCT FROM second.seal AS differs, first.records
        FROM (SELECT count(*) AS records, sum({{ sealed(false) }}::HUGEINT) AS seal FROM source) AS first,
            (SELECT count(*) AS records, sum({{ sealed(true) }}::HUGEINT) AS seal FROM {{ origin }}) AS second
    ) AS reread,
    (
        {# Each record arrives no earlier than the one before it. #}
        SELECT count(*) AS records
        FROM source AS l
        JOIN source AS b ON b.rid = l.rid - 1{% if continuation is defined %} AND b.rid \
            > {{ continuation.n_before }}{% endif +%}
        WHERE {% for o in order %}{% if not loop.first %} \
            OR ({% for e in order[:loop.index0] %}l."order: {{ loop.index }}" \
            = b."order: {{ loop.index }}" AND {% endfor %}{% endif %}l."order: {{ loop.index }}" \
            < b."order: {{ loop.index }}"{% if not loop.first %}){% endif %}{% endfor +%}
    ) AS earlier,
    (
        SELECT sum(size) AS records
        FROM noisy_records
        WHERE NOT (true
            {% for r in rules %}
            {% if r.is_number and typed %} AND {{ 'low'|of(r) }} IS NULL \
                AND {{ 'high'|of(r) }} IS NULL{% else %} AND {{ 'published'|of(r) }} IS NOT DISTINCT FROM '*'{% endif %}
            {% endfor %}
        )
    ) AS shown,
    (
        {{ uncovered_values(sql('class_originals AS r LEFT JOIN regrouped_classes AS c USING (class_id)'), \
            sql('r.size'), stream.maybe_match) }}
    ) AS covered,
    {% if numbers %}
    (
        SELECT count(*) AS classes
        FROM regrouped_classes AS c
        JOIN first_values AS f ON f.class_id = c.class_id
        {% if not typed %}{% for r in numbers %}
        LEFT JOIN {{ 'parsed'|of(r) }} AS {{ 'allowed'|of(r) }} ON {{ 'allowed'|of(r) }}.published \
            = c.{{ 'published'|of(r) }}
        {% endfor %}{% endif %}
        WHERE ({% for r in numbers %}{% if not loop.first %} OR {% endif %}{{ reaches_beyond(r) }}{% endfor %})
        {% if continuation is defined %}AND c.class_id NOT IN (SELECT class_id FROM known_classes){% endif +%}
    ) AS reached,
    {% endif %}
    {% if stream.maybe_match %}
    (
        {# A NULL may be in a class of values, but not in all of the records that are published first. #}
        SELECT coalesce(sum(c.size) FILTER (WHERE false
            {% for r in rules %}
            OR coalesce(m.{{ 'not null'|of(r) }}, 0) = 0 \
                AND {% if r.is_number and typed %}c.{{ 'low'|of(r) }} IS NOT NULL{% else %}c.{{ 'published'|of(r) }} \
                IS NOT NULL{% endif +%}
            {% endfor %}
        ), 0) AS records
        FROM regrouped_classes AS c
        LEFT JOIN (
            SELECT class_id{% for r in rules %}, count({{ r.column }}) AS {{ 'not null'|of(r) }}{% endfor %}
            FROM class_originals
            GROUP BY class_id
        ) AS m ON m.class_id = c.class_id
        {% if continuation is defined %}WHERE c.class_id NOT IN (SELECT class_id FROM known_classes){% endif +%}
    ) AS invented,
    {% endif %}
    (
        SELECT
            count(*) FILTER (WHERE coalesce(persons, 0) < {{ k }}\
                {% if continuation is defined %} AND NOT is_known{% endif %}) AS small,
            count(*) FILTER (WHERE low <> high{% if continuation is defined %} OR is_other{% endif %}) + count(*) \
                - count(DISTINCT low) AS confused,
            0{% for r in rules if r.is_number %} + {% if typed %}count(*) FILTER (WHERE NOT {{ 'conforms'|of(r) }})\
                {% else %}(SELECT count(*) FROM {{ 'parsed'|of(r) }} WHERE NOT keeps){% endif %}{% endfor %} AS finer
        FROM (
            SELECT
                min(f.persons) AS persons, min(c.class_id) AS low, max(c.class_id) AS high
                {# A class that readers have is as they have it, and no new one is. #}
                {% if continuation is defined %}, bool_or(n.class_id IS NOT NULL) AS is_known, \
                    bool_or(n.class_id IS NULL AND c.class_id <= {{ continuation.max_class_id }} \
                    OR NOT coalesce(n.class_id = c.class_id, true)) AS is_other{% endif +%}
                {% if typed %}{% for r in rules if r.is_number %}, \
                    bool_and(coalesce({{ keeps_typed(r, sql('c.', 'low'|of(r)), true) }} \
                    AND {{ keeps_typed(r, sql('c.', 'high'|of(r)), false) }}, \
                    false)) AS {{ 'conforms'|of(r) }}{% endfor %}{% endif %}
            FROM regrouped_classes AS c
            LEFT JOIN first_seen AS f ON f.class_id = c.class_id
            {% if continuation is defined %}
            LEFT JOIN known_classes AS n ON {% for q in rules %}{% if not loop.first %} AND {% endif %}\
                {% if q.is_number and typed %}n.{{ 'low'|of(q) }} IS NOT DISTINCT FROM c.{{ 'low'|of(q) }} \
                AND n.{{ 'high'|of(q) }} IS NOT DISTINCT FROM c.{{ 'high'|of(q) }}{% else %}n.{{ 'published'|of(q) }} \
                IS NOT DISTINCT FROM c.{{ 'published'|of(q) }}{% endif %}{% endfor +%}
            {% endif %}
            GROUP BY {% for q in rules %}{% if not loop.first %}, {% endif %}\
                {% if q.is_number and typed %}c.{{ 'low'|of(q) }}, \
                c.{{ 'high'|of(q) }}{% else %}c.{{ 'published'|of(q) }}{% endif %}{% endfor %}
        )
    ) AS classes
    {% if model_columns %}
    , (
        SELECT {% for s in model_columns %}{% for m in s.models %}count(*) \
            FILTER (WHERE NOT coalesce({{ 'values'|of(s) }} >= {{ m.bound }}, \
            false)) AS {{ ('violations of ' ~ m.parameter)|of(m) }}, {% endfor %}{% endfor %}count(*) AS classes
        FROM first_seen
        {% if continuation is defined %}WHERE class_id NOT IN (SELECT class_id FROM known_classes){% endif +%}
    ) AS judged
    {% endif %}
)
