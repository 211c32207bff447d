{#- A role for each column, with the reason: by its name where its values do not contradict, else by its values. What
    neither tells is withheld. -#}
-- A row a column: shares of what was counted.
measured AS (
    SELECT
        f.*,
        f.records - f.missing AS filled,
        f.distinct_values / nullif(f.records - f.missing, 0) AS own,
        coalesce(f.uniques / nullif(f.records, 0), 0) AS unique_alone,
        coalesce(f.groups / nullif(f.records, 0), 0) AS distinction,
        CASE WHEN f.records > 1 THEN 1 - f.alike / (f.records::DOUBLE * (f.records - 1)) ELSE 0 END AS separation,
        CASE WHEN h.covered >= CASE WHEN h.affinity > 0 THEN {{ limits.MIN_COVERED_SHARE }} ELSE {{ limits.NEARLY_ALL_SHARE }} END * (f.distinct_values - f.spelled) THEN h.name END AS near_hierarchy,
        h.covered AS near_covered,
        h.covered = f.distinct_values - f.spelled AND (f.distinct_values - f.spelled > 1 OR h.affinity > 0) AS fits,
        f.dates >= {{ limits.NEARLY_ALL_SHARE }} AS is_date,
        f.names >= {{ limits.MIN_NAME_SHARE }} AS has_names,
        f.names + f.capitalised >= {{ limits.MIN_NAME_SHARE }} AS may_be_names,
        coalesce(f.is_wordy AND (
            own >= {{ limits.MIN_PROSE_DISTINCT_SHARE }}
            OR (f.distinct_values >= {{ limits.MIN_REPEATED_PROSE_TEXTS }} AND own >= {{ limits.MIN_REPEATED_PROSE_SHARE }})
        ) OR (f.sentences >= {{ limits.MIN_SENTENCE_SHARE }} AND f.distinct_values >= {{ limits.RARE_RECORDS }}), false) AS is_prose,
        filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} AND own >= {{ limits.NEARLY_ALL_SHARE }} AS is_nearly_unique,
        {# How many, as in number of children, and codes of a short list, as in admission_type_id, are no keys. #}
        f.longest <= {{ limits.MAX_SHORT_LENGTH }} AND own < {{ limits.NEARLY_ALL_SHARE }} AS is_short,
        CASE
            WHEN f.named_count IS NOT NULL AND is_short AND (f.distinct_values <= {{ limits.MAX_UNCHANGED_VALUES }} OR own < {{ limits.MIN_KEY_DISTINCT_SHARE }}) THEN NULL
            WHEN f.named_category IS NOT NULL AND is_short AND f.distinct_values <= {{ limits.MAX_UNCHANGED_VALUES }} AND own < {{ limits.MIN_KEY_DISTINCT_SHARE }} THEN NULL
            ELSE f.named_key
        END AS id_word,
        {# Zip codes and words that a hierarchy knows are published as * where each is rare; ages in small tables differ by chance. #}
        f.is_text AND f.longest <= {{ limits.MAX_POSTAL_LENGTH }} AND regexp_matches(f.named_quasi, {{ postal }}) AS is_postal,
        is_nearly_unique AND NOT coalesce(is_postal, false) AND NOT coalesce(f.is_text AND fits, false)
            AND NOT coalesce(f.longest <= {{ limits.MAX_SHORT_LENGTH }} AND filled < {{ limits.MIN_INTEGER_KEY_RECORDS }}, false) AS is_telling_alone
    FROM fact AS f
    LEFT JOIN hierarchy AS h USING (place)
),
-- A row a column: Keys that repeat may tell persons apart: those named after a person before numbers for life before
-- any other.
keyed AS (
    SELECT
        *,
        CASE
            WHEN distinct_values < 2 OR distinct_values >= {{ limits.NEARLY_ALL_SHARE }} * filled OR NOT tells_persons THEN NULL
            WHEN named_subject IS NOT NULL AND (own >= {{ limits.MIN_KEY_DISTINCT_SHARE }} OR (id_word IS NOT NULL AND distinct_values >= {{ limits.MIN_KEY_VALUES }})) THEN 1
            WHEN named_number IS NOT NULL THEN 2
            WHEN id_word IS NOT NULL AND named_quasi IS NULL AND named_sensitive IS NULL AND NOT coalesce(regexp_matches(named_direct, {{ places }}), false) AND own >= {{ limits.MIN_KEY_DISTINCT_SHARE }}
                AND (is_keylike OR is_whole) AND filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} THEN 3
        END AS person_rank
    FROM measured
),
-- A row a column: its place among those that may tell persons apart.
ranked AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN person_rank IS NOT NULL THEN row_number() OVER (
            ORDER BY person_rank ASC NULLS LAST, distinct_values DESC, place ASC
        ) = 1 END AS is_person
    FROM keyed
),
-- One row: The column whose values are counted as persons; none where no column is one.
chosen AS MATERIALIZED (SELECT place FROM ranked WHERE is_person),
{%- set who %}{% if keys %}CASE (SELECT place FROM chosen) {% for c in keys %}WHEN {{ c.i }} THEN CASE WHEN c{{ c.i }} IS NOT NULL THEN hash(c{{ c.i }}) END {% endfor %}END{% else %}NULL{% endif %}{% endset %}
{%- set people %}CASE WHEN EXISTS (FROM chosen) THEN count(DISTINCT who) ELSE count(*) END{% endset %}
-- A row a column: Of what could be published as it is: records with values of few records, or of few persons.
few AS MATERIALIZED (
    {% for c in neutral %}
    SELECT {{ c.i }} AS place, coalesce(sum(records) FILTER (WHERE people < {{ limits.RARE_RECORDS }}), 0)::BIGINT AS in_few
    FROM (
        SELECT count(*) AS records, {{ people }} AS people
        FROM (SELECT c{{ c.i }} AS value, {{ who }} AS who FROM source)
        GROUP BY value
    )
    {% if not loop.last %}UNION ALL{% endif %}
    {% else %}
    SELECT NULL::INTEGER AS place, 0 AS in_few WHERE false
    {% endfor %}
),
-- One row per column that its name would publish: whether nearly all of its values belong to one person each.
single AS MATERIALIZED (
    {% if keys %}
    {% for c in named %}
    SELECT {{ c.i }} AS place, count(*) >= {{ limits.MIN_UNIQUENESS_RECORDS }} AND count(*) FILTER (WHERE first_person = last_person) >= {{ limits.NEARLY_ALL_SHARE }} * count(*) AS is_one_person_each
    FROM (
        SELECT min(who) AS first_person, max(who) AS last_person
        FROM (SELECT c{{ c.i }} AS value, {{ who }} AS who FROM source)
        WHERE value IS NOT NULL AND EXISTS (FROM chosen)
        GROUP BY value
    )
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
    {% endif %}
    {% if not (keys and named) %}
    SELECT NULL::INTEGER AS place, false AS is_one_person_each WHERE false
    {% endif %}
),
-- A row a column: the proposed role, and why.
decided AS MATERIALIZED (
    SELECT
        r.*, in_few,
        CASE
            WHEN is_person THEN ['person', 'its name says ' || coalesce(named_subject, named_number, named_key)
                || ', and its values repeat: ' || distinct_values || ' in ' || filled || ' records']
            WHEN person_rank IS NOT NULL THEN ['identifier', 'its name says '
                || coalesce(named_subject, named_number, named_key) || ', and its values repeat, but another column is the person']
            WHEN named_number IS NOT NULL OR named_direct IS NOT NULL THEN
                ['identifier', 'its name says ' || coalesce(named_number, named_direct)]
            WHEN named_prose IS NOT NULL THEN ['identifier', 'its name says ' || named_prose || ': free text, which may name people']
            WHEN records > 0 AND filled = 0 THEN ['{{ withheld }}', 'review: it has no values']
            {# The day of a visit that has a number is still a day. #}
            WHEN (id_word IS NOT NULL AND NOT (is_date AND NOT is_clock AND named_quasi IS NOT NULL))
                OR (named_subject IS NOT NULL AND (records = 0 OR own >= {{ limits.NEARLY_ALL_SHARE }})) THEN
                ['identifier', 'its name says ' || coalesce(named_subject, id_word)
                    || CASE WHEN own >= {{ limits.NEARLY_ALL_SHARE }} THEN ', and nearly every record has a value of its own' ELSE '' END]
            WHEN form IS NOT NULL THEN ['identifier', 'its values look like ' || form]
            WHEN contact_share >= {{ limits.MIN_CONTACT_SHARE }} OR (contacts > 0 AND named_quasi IS NULL) THEN
                ['identifier', 'some of its texts hold telephone numbers or e-mail addresses']
            WHEN is_prose THEN ['identifier', 'its texts are prose, which may name people']
            WHEN (has_names AND named_proper IS NULL) OR (may_be_names AND named_proper IS NULL AND named_sensitive IS NULL
                AND (named_quasi IS NOT NULL OR distinct_values > {{ limits.MAX_UNCHANGED_VALUES }})) THEN
                ['identifier', 'its values are written as names of people are']
            {# What happened when is known to who was there, be it the day of a diagnosis. #}
            WHEN is_clock AND is_telling_alone THEN ['identifier', 'nearly every record has a time of its own']
            WHEN is_date AND generalizes AND filled > 0 THEN ['quasi', 'its values are dates or times']
            WHEN named_coordinate IS NOT NULL AND records = 0 THEN
                ['{{ withheld }}', 'review: its name says ' || named_coordinate || ', and there are no records that show how precise it is']
            {# A word for a position in one language and a wage in another is decided by the values. #}
            WHEN named_coordinate IS NOT NULL AND (named_ambiguous IS NULL OR is_in_degrees) AND (named_ambiguous IS NULL OR NOT is_integral)
                AND NOT (is_in_degrees AND is_coarse AND NOT is_telling_alone) THEN
                ['identifier', 'its name says ' || named_coordinate || ', and a precise position is an address']
            WHEN named_coordinate IS NOT NULL AND is_in_degrees AND NOT is_integral THEN
                ['quasi', 'its name says ' || named_coordinate || ', and its values are coarse']
            WHEN named_ambiguous IS NOT NULL AND (named_coordinate IS NULL OR is_in_degrees OR NOT is_position OR records = 0) THEN
                ['{{ withheld }}', 'review: its name says ' || named_ambiguous || ', which means different things in different languages']
            WHEN named_coordinate IS NOT NULL AND named_ambiguous IS NULL AND named_quasi IS NULL THEN
                ['{{ withheld }}', 'review: its name says ' || named_coordinate || ', but its values are whole numbers']
            WHEN named_sensitive IS NOT NULL AND (is_nearly_unique OR is_one_person_each) THEN
                ['{{ withheld }}', 'review: its name says ' || named_sensitive || ', and nearly every '
                    || CASE WHEN is_nearly_unique THEN 'record' ELSE 'person' END || ' has a value of its own, by which it would be found']
            WHEN named_sensitive IS NOT NULL AND generalizes THEN ['sensitive', 'its name says ' || named_sensitive]
            {# Both ends of a range would be the value of somebody. #}
            WHEN named_quasi IS NOT NULL AND is_telling_alone THEN
                ['identifier', 'its name says ' || named_quasi || ', but nearly every record has a value of its own']
            WHEN named_quasi IS NOT NULL AND is_one_person_each AND NOT coalesce(is_postal, false) AND NOT coalesce(is_text AND fits, false) THEN
                ['identifier', 'its name says ' || named_quasi || ', but nearly every person has a value of its own']
            WHEN named_quasi IS NOT NULL AND generalizes THEN ['quasi', 'its name says ' || named_quasi]
            WHEN filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} AND is_keylike AND own >= {{ limits.NEARLY_ALL_SHARE }} THEN
                ['identifier', 'nearly every record has a value of its own']
            WHEN filled >= {{ limits.MIN_INTEGER_KEY_RECORDS }} AND is_whole AND distinct_values = filled THEN
                ['identifier', 'every record has a whole number of its own, as keys do']
            WHEN is_text AND fits AND near_hierarchy IN ({% for h in sensitive_hierarchies %}{{ h }}{% if not loop.last %}, {% endif %}{% endfor %}) THEN
                CASE
                    WHEN diagnoses < {{ limits.NEARLY_ALL_SHARE }} OR distinct_values >= {{ limits.MIN_DIAGNOSIS_CODES }} THEN
                        ['sensitive', 'its values are those of hierarchy ' || near_hierarchy]
                    ELSE ['{{ withheld }}', 'review: its few values could be codes of diseases or of anything']
                END
            WHEN is_text AND fits THEN ['quasi', 'its values are those of hierarchy ' || near_hierarchy]
            WHEN is_text AND distinct_values >= {{ limits.MIN_DIAGNOSIS_CODES }} AND diagnoses >= {{ limits.NEARLY_ALL_SHARE }} THEN
                ['{{ withheld }}', 'review: its values look like ICD-10 codes, but not all are']
            WHEN records = 0 THEN ['{{ withheld }}', 'review: the table has no records'
                || CASE WHEN named_neutral IS NULL THEN ', and its name says nothing that is known' ELSE '' END]
            WHEN named_neutral IS NOT NULL AND groups <= {{ limits.MAX_UNCHANGED_VALUES }} AND in_few = 0 THEN
                ['insensitive', 'its name says ' || named_neutral || ', and each of its ' || groups || ' values belongs to {{ limits.RARE_RECORDS }} '
                    || CASE WHEN EXISTS (FROM chosen) THEN 'persons' ELSE 'records' END || ' or more']
            WHEN named_neutral IS NOT NULL AND is_telling_alone THEN
                ['identifier', 'its name says ' || named_neutral || ', but nearly every record has a value of its own']
            WHEN named_neutral IS NOT NULL AND generalizes THEN
                ['quasi', 'its name says ' || named_neutral || CASE WHEN in_few > 0
                    THEN '; records with values of fewer than {{ limits.RARE_RECORDS }}' || CASE WHEN EXISTS (FROM chosen) THEN ' persons' ELSE '' END || ': ' || in_few
                    ELSE ', and it has ' || groups || ' values' END]
            ELSE ['{{ withheld }}', 'review: '
                || CASE WHEN named_sensitive IS NULL AND named_quasi IS NULL AND named_neutral IS NULL
                    THEN 'neither its name nor its values say what it is' ELSE 'values of its type cannot be generalized' END]
        END AS verdict
    FROM ranked AS r
    LEFT JOIN few USING (place)
    LEFT JOIN single USING (place)
),
-- One row: Columns that would be published as they are single out together whom none of them singles out.
together AS MATERIALIZED (
    {% if neutral %}
    SELECT coalesce(sum(records) FILTER (WHERE people < {{ limits.RARE_RECORDS }}), 0)::BIGINT AS in_few
    FROM (
        SELECT count(*) AS records, {{ people }} AS people
        FROM (
            SELECT {% for c in neutral %}CASE WHEN o.p[{{ c.i + 1 }}] THEN hash(c{{ c.i }}) END AS h{{ c.i }}, {% endfor %}{{ who }} AS who
            FROM source, (SELECT list(verdict[1] = 'insensitive' ORDER BY place ASC) AS p FROM decided) AS o
        )
        GROUP BY {% for c in neutral %}{% if not loop.first %}, {% endif %}h{{ c.i }}{% endfor %}
    )
    {% else %}
    SELECT 0 AS in_few
    {% endif %}
),
-- A row a column: the role that is proposed in the end.
judged AS MATERIALIZED (
    SELECT
        * EXCLUDE (in_few),
        verdict[1] = 'insensitive' AND t.in_few > 0 AS is_telling,
        CASE WHEN NOT is_telling THEN verdict[1] WHEN generalizes THEN 'quasi' ELSE '{{ withheld }}' END AS role,
        role IN ('quasi', 'sensitive') AND near_hierarchy IS NOT NULL AS has_hierarchy,
        CASE WHEN has_hierarchy THEN near_hierarchy END AS hierarchy,
        CASE WHEN has_hierarchy THEN near_covered END AS covered,
        coalesce(has_hierarchy AND near_covered = distinct_values - spelled, false) AS applies,
        CASE
            WHEN outside IS NOT NULL THEN outside
            WHEN is_text AND role NOT IN ('identifier', 'person') THEN rare
        END AS outliers,
        CASE
            WHEN outside IS NOT NULL AND filled = 0 THEN 'no values'
            WHEN outside IS NOT NULL AND middle IS NULL THEN 'not finite'
            WHEN outside IS NOT NULL AND middle = 0 THEN 'other than the middle 98 %, which are equal'
            WHEN outside IS NOT NULL THEN 'beyond the middle ' || middle || ' % by more than 3 times their width'
            WHEN is_text AND role NOT IN ('identifier', 'person') THEN 'values of fewer than {{ limits.RARE_RECORDS }} records'
        END || CASE WHEN wild > 0 THEN ', or not finite' ELSE '' END AS outliers_by,
        CASE
            WHEN is_telling THEN CASE WHEN role = 'quasi' THEN '' ELSE 'review: ' END || 'its name says ' || named_neutral
                || ', but with others like it, it singles out records: ' || t.in_few
            ELSE verdict[2]
        END
            || CASE WHEN role = 'quasi' AND wild > 0 THEN '; NaN or infinite values, to be replaced before a release: ' || wild ELSE '' END
            || CASE
                WHEN role = 'quasi' AND is_text AND has_hierarchy AND NOT applies THEN
                    '; values that the hierarchy misses, so that the statement leaves it out: ' || (distinct_values - spelled - near_covered)
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND numbers = 1 AND regexp_matches(named_quasi, {{ postal }}) THEN
                    '; build a hierarchy with hierarchy_prefix'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND numbers = 1 THEN '; its texts are numbers: if they are quantities, they are published as ranges once they are mended'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND is_date THEN '; its texts are dates, which are published as ranges once they are mended'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy THEN '; no known hierarchy covers it'
                ELSE '' END AS reason
    FROM decided, together AS t
)
