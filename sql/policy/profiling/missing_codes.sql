{#- What is wrong with the cells: codes for missing values, and texts that are dates or numbers. -#}
-- A row a column and a code in it that stands for a missing value: how many values are exactly that, how many records
-- are but for blanks. Of texts what is no leaf of a hierarchy; of numbers and dates what is far from all others.
coded AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, NULL::VARCHAR AS code, 0 AS spelled, 0::BIGINT AS records WHERE false
    {% for c in columns if c.is_text %}
    UNION ALL
    SELECT {{ c.i }} AS place, code, count(*) FILTER (WHERE value = code) AS spelled, sum(records)::BIGINT AS records
    FROM (SELECT value, {{ mend.trimmed }} COLLATE POSIX AS code, records FROM value_{{ c.i }} WHERE length(value) <= 4 * {{ mend.longest }})
    WHERE code IN ({{ mend.codes }})
        AND code NOT IN (SELECT l.label FROM leaf AS l JOIN hierarchy AS h USING (name) WHERE h.place = {{ c.i }} AND h.covered > 1
            AND h.covered >= {{ limits.MIN_COVERED_SHARE }} * (SELECT count(value) FROM value_{{ c.i }}))
    GROUP BY code
    {% endfor %}
    {% for c in columns if c.coded_as %}
    UNION ALL
    SELECT {{ c.i }}, k.code, 0, v.records
    FROM (SELECT {{ c.number }} AS number, records FROM value_{{ c.i }}) AS v
    JOIN (VALUES {% if c.coded_as == 'date' %}{{ mend.dates }}{% else %}{{ mend.numbers }}{% endif %}) AS k (number, code) ON v.number = k.number,
    (
        SELECT count(*) AS many, min(number) AS low, max(number) AS high
        FROM (SELECT {{ c.number }} AS number FROM value_{{ c.i }})
        WHERE number NOT IN (SELECT n FROM (VALUES {% if c.coded_as == 'date' %}{{ mend.dates }}{% else %}{{ mend.numbers }}{% endif %}) AS k (n, code))
    ) AS rest
    WHERE many > 1 AND (
        {% if c.coded_as == 'date' %}
        k.number > high + {{ mend.far_date }} * (high - low) OR k.number < low - {{ mend.far_date }} * (high - low)
        {% else %}
        k.number > high + {{ mend.far_number }} * (high - low) OR (k.number < 0 AND low >= 0)
        {% endif %}
    )
    {% endfor %}
),
-- A row a column of texts: which forms nearly all of a sample have.
tried AS MATERIALIZED (
    SELECT place, [{% for r in mend.reads %}
        count(*) FILTER (WHERE {% if r.is_date %}CASE WHEN is_date THEN {{ r.sql }} ELSE false END{% else %}{{ r.sql }}{% endif %}) >= {{ limits.NEARLY_ALL_SHARE }} * count(*){% if not loop.last %},{% endif %}{% endfor %}
        ] AS may
    FROM (
        SELECT s.place, {{ mend.trimmed }} AS value, k.dates >= {{ limits.NEARLY_ALL_SHARE }} AS is_date
        FROM sampled AS s JOIN looks AS k USING (place)
    )
    GROUP BY place
),
-- A row a column of texts that may have a form: how many values there are, and by form how many have it not.
unread AS MATERIALIZED (
    SELECT place, count(*) AS texts, [{% for r in mend.reads %}
        CASE WHEN any_value(may[{{ loop.index }}]) THEN count(*) FILTER (WHERE CASE WHEN may[{{ loop.index }}] THEN NOT {{ r.sql }} ELSE false END) END{% if not loop.last %},{% endif %}{% endfor %}
        ] AS unread
    FROM (
        {% for c in columns if c.is_text %}
        SELECT {{ c.i }} AS place, {{ mend.trimmed }} AS value
        FROM value_{{ c.i }}
        WHERE value IS NOT NULL AND EXISTS (FROM tried WHERE place = {{ c.i }} AND list_contains(may, true))
        {% if not loop.last %}UNION ALL{% endif %}
        {% else %}
        SELECT NULL::INTEGER AS place, NULL::VARCHAR AS value WHERE false
        {% endfor %}
    )
    JOIN tried USING (place)
    WHERE value NOT IN ({{ mend.codes }})
    GROUP BY place
),
-- A row a form that texts can have.
form AS MATERIALIZED ({{ mend.forms }}),
-- A row a column and a form that it may have, with how many values another form has not that the same text can have.
readable AS MATERIALIZED (
    SELECT u.place, u.texts, f.*, u.unread[f.shape + 1] AS unread, u.unread[f.twin + 1] = u.unread[f.shape + 1] AS is_both
    FROM unread AS u, form AS f
    WHERE u.unread[f.shape + 1] IS NOT NULL
),
-- A row an order of days and months, or of points and commas, that a column shows without doubt.
shown AS (
    SELECT DISTINCT sequence, sequence IN ('day', 'month') AS is_date
    FROM readable WHERE unread = 0 AND sequence IS NOT NULL AND NOT coalesce(is_both, false)
),
-- A row such an order that no column contradicts.
known AS (SELECT any_value(sequence) AS sequence, is_date FROM shown GROUP BY is_date HAVING count(*) = 1),
-- A row a column of texts: the form that it has.
shaped AS MATERIALIZED (
    SELECT r.* EXCLUDE (is_both), coalesce(is_both, false) AS is_both, k.sequence IS NOT NULL AS is_known
    FROM readable AS r
    LEFT JOIN known AS k ON k.sequence = r.sequence
    QUALIFY row_number() OVER (PARTITION BY r.place ORDER BY unread ASC, (r.sequence IS NULL OR k.sequence IS NOT NULL) DESC, shape ASC) = 1
)
