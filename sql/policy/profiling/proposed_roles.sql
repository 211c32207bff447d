{#- A role for each column, with the reason: by its name where its values do not contradict, else by its values. A
    column is withheld if neither shows what it is. -#}
-- One row per column: shares of what was counted, and what follows from them.
column_shares AS (
    SELECT
        f.*,
        f.records - f.missing AS n_filled,
        f.distinct_values / nullif(f.records - f.missing, 0) AS distinct_share,
        coalesce(f.n_uniques / nullif(f.records, 0), 0) AS unique_alone,
        coalesce(f.n_groups / nullif(f.records, 0), 0) AS distinction,
        CASE
            WHEN f.records > 1 THEN 1 - f.n_equal_pairs / (f.records::DOUBLE * (f.records - 1)) ELSE 0
        END AS separation,
        f.distinct_values - f.n_code_values AS n_known_values,
        CASE WHEN h.n_covered >= n_known_values * CASE
            WHEN h.n_shared_words > 0 THEN {{ limits.MIN_COVERED_SHARE }} ELSE {{ limits.NEARLY_ALL_SHARE }}
        END THEN h.name END AS near_hierarchy,
        h.n_covered,
        h.n_covered = n_known_values AND (n_known_values > 1 OR h.n_shared_words > 0) AS is_covered,
        f.dates >= {{ limits.NEARLY_ALL_SHARE }} AS is_date,
        f.names >= {{ limits.MIN_NAME_SHARE }} AS has_names,
        f.names + f.capitalised >= {{ limits.MIN_NAME_SHARE }} AS may_be_names,
        coalesce(
            f.is_wordy AND (
                distinct_share >= {{ limits.MIN_PROSE_DISTINCT_SHARE }}
                OR (
                    f.distinct_values >= {{ limits.MIN_REPEATED_PROSE_TEXTS }}
                    AND distinct_share >= {{ limits.MIN_REPEATED_PROSE_SHARE }}
                )
            )
            OR (f.sentences >= {{ limits.MIN_SENTENCE_SHARE }} AND f.distinct_values >= {{ limits.RARE_RECORDS }}),
            false
        ) AS is_prose,
        n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }}
            AND distinct_share >= {{ limits.NEARLY_ALL_SHARE }} AS is_nearly_unique,
        {# Counts, as in number of children, and codes of a short list, as in admission_type_id, are no keys. #}
        f.max_length <= {{ limits.MAX_SHORT_LENGTH }}
            AND distinct_share < {{ limits.NEARLY_ALL_SHARE }} AS is_short,
        CASE
            WHEN f.named_count IS NOT NULL AND is_short AND (
                f.distinct_values <= {{ limits.MAX_UNCHANGED_VALUES }}
                OR distinct_share < {{ limits.MIN_KEY_DISTINCT_SHARE }}
            ) THEN NULL
            WHEN (
                f.named_category IS NOT NULL
                OR (f.named_quasi IS NOT NULL AND f.named_subject IS NULL AND f.named_sensitive IS NULL)
            ) AND f.distinct_values <= {{ limits.MAX_UNCHANGED_VALUES }}
                AND distinct_share < {{ limits.MIN_KEY_DISTINCT_SHARE }} THEN NULL
            ELSE f.named_key
        END AS key_word,
        {# Zip codes, and words that a hierarchy has, are published as * where each is rare. Ages in small tables differ
            by chance. #}
        f.is_text AND f.max_length <= {{ limits.MAX_POSTAL_LENGTH }}
            AND regexp_matches(f.named_quasi, {{ postal }}) AS is_postal,
        {# Two persons can have the numbers 0 and 1. #}
        (f.is_zero_or_one OR f.type = 'BOOLEAN') AND f.named_subject IS NULL AND f.distinct_values > 0
            AND n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} AS is_flag,
        is_nearly_unique AND NOT coalesce(is_postal, false) AND NOT coalesce(f.is_text AND is_covered, false)
            AND NOT coalesce(
                f.max_length <= {{ limits.MAX_SHORT_LENGTH }} AND n_filled < {{ limits.MIN_INTEGER_KEY_RECORDS }}, false
            ) AS is_identifying_alone
    FROM column_facts AS f
    LEFT JOIN best_hierarchies AS h USING (place)
),
-- One row per column: its rank as a key of persons, NULL if it is none. Keys whose values repeat may distinguish
-- persons: first those named after a person, then numbers that a person has for life, then any other; and after all of
-- these the keys with a few duplicates.
person_keys AS (
    SELECT
        *,
        CASE
            WHEN distinct_values < 2 OR is_flag OR distinct_values >= n_filled OR NOT can_identify_persons
                OR (is_nearly_all AND coalesce(named_direct, named_prose) IS NOT NULL) THEN NULL
            WHEN named_subject IS NOT NULL AND (
                distinct_share >= {{ limits.MIN_KEY_DISTINCT_SHARE }}
                OR (key_word IS NOT NULL AND distinct_values >= {{ limits.MIN_KEY_VALUES }})
            ) THEN 1
            WHEN named_number IS NOT NULL THEN 2
            WHEN key_word IS NOT NULL AND (is_nearly_all OR (named_quasi IS NULL AND named_sensitive IS NULL))
                AND NOT coalesce(regexp_matches(named_direct, {{ places }}), false)
                AND distinct_share >= {{ limits.MIN_KEY_DISTINCT_SHARE }}
                AND (is_keylike OR is_whole) AND n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} THEN 3
        END + CASE WHEN is_nearly_all THEN 3 ELSE 0 END AS person_rank
    FROM (SELECT *, distinct_values >= {{ limits.NEARLY_ALL_SHARE }} * n_filled AS is_nearly_all FROM column_shares)
),
-- One row per column: whether it is the key of persons, the first of those that may be.
ranked_columns AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN person_rank IS NOT NULL THEN row_number() OVER (
            ORDER BY person_rank ASC NULLS LAST, distinct_values DESC, place ASC
        ) = 1 END AS is_person
    FROM person_keys
),
-- One row: the column whose values are counted as persons; no row if no column is one.
person_columns AS MATERIALIZED (SELECT place FROM ranked_columns WHERE is_person),
-- One row per record of the source: a hash of its person, NULL if no person is known.
source_records AS NOT MATERIALIZED (
    SELECT
        *,
        {% if keys %}
        CASE (SELECT place FROM person_columns)
            {% for c in keys %}
            WHEN {{ c.i }} THEN CASE WHEN {{ c.column }} IS NOT NULL THEN hash({{ c.column }}) END
            {% endfor %}
        END AS person_key
        {% else %}
        NULL AS person_key
        {% endif %}
    FROM source
),
-- One row per column that its name would publish: whether nearly all of its values belong to one person each.
value_owners AS MATERIALIZED (
    SELECT NULL::INTEGER AS place, false AS is_one_person_each WHERE false
    {% for c in named if keys %}
    UNION ALL
    SELECT
        {{ c.i }},
        count(*) >= {{ limits.MIN_UNIQUENESS_RECORDS }}
            AND count(*) FILTER (WHERE first_person = last_person) >= {{ limits.NEARLY_ALL_SHARE }} * count(*)
    FROM (
        SELECT min(person_key) AS first_person, max(person_key) AS last_person
        FROM source_records
        WHERE {{ c.column }} IS NOT NULL AND EXISTS (FROM person_columns)
        GROUP BY {{ c.column }}
    )
    {% endfor %}
),
-- One row per column: a proposal for it alone, which is a list of the role and the reason.
single_proposals AS MATERIALIZED (
    SELECT
        r.*,
        CASE
            {# Two values identify no one, whatever the name says: has_email, phone_verified. #}
            WHEN is_flag AND coalesce(named_number, named_direct, named_prose, named_key) IS NOT NULL THEN
                CASE
                    WHEN named_sensitive IS NOT NULL THEN ['sensitive', 'its name says ' || named_sensitive]
                    ELSE ['{{ withheld }}', 'review: its name says ' || coalesce(
                        named_number, named_direct, named_prose, named_key
                    ) || ', but it has no values other than yes and no']
                END
            WHEN is_person THEN [
                'person',
                'its name says ' || coalesce(named_subject, named_number, named_key)
                    || ', and its values repeat: ' || distinct_values || ' in ' || n_filled || ' records'
            ]
            WHEN person_rank IS NOT NULL THEN [
                'identifier',
                'its name says ' || coalesce(named_subject, named_number, named_key)
                    || ', and its values repeat, but another column is the person'
            ]
            WHEN named_number IS NOT NULL OR named_direct IS NOT NULL THEN
                ['identifier', 'its name says ' || coalesce(named_number, named_direct)]
            WHEN named_prose IS NOT NULL THEN
                ['identifier', 'its name says ' || named_prose || ': free text, which may name people']
            WHEN records > 0 AND n_filled = 0 THEN ['{{ withheld }}', 'review: it has no values']
            {# The day of a visit that has a number is still a day. #}
            WHEN (key_word IS NOT NULL AND NOT (is_date AND NOT is_clock AND named_quasi IS NOT NULL))
                OR (
                    named_subject IS NOT NULL
                    AND (records = 0 OR distinct_share >= {{ limits.NEARLY_ALL_SHARE }})
                ) THEN [
                'identifier',
                'its name says ' || coalesce(named_subject, key_word) || CASE
                    WHEN distinct_share >= {{ limits.NEARLY_ALL_SHARE }}
                    THEN ', and nearly every record has a value of its own'
                    ELSE '' END
            ]
            WHEN form IS NOT NULL THEN ['identifier', 'its values look like ' || form]
            WHEN contact_share >= {{ limits.MIN_CONTACT_SHARE }} OR (contacts > 0 AND named_quasi IS NULL) THEN
                ['identifier', 'some of its texts hold telephone numbers or e-mail addresses']
            WHEN is_prose THEN ['identifier', 'its texts are prose, which may name people']
            WHEN (has_names AND named_proper IS NULL)
                OR (
                    may_be_names AND named_proper IS NULL AND named_sensitive IS NULL
                    AND (named_quasi IS NOT NULL OR distinct_values > {{ limits.MAX_UNCHANGED_VALUES }})
                ) THEN
                ['identifier', 'its values are written as names of people are']
            {# People who were there know when something happened, even if it is the day of a diagnosis. #}
            WHEN is_clock AND is_identifying_alone THEN ['identifier', 'nearly every record has a time of its own']
            WHEN is_date AND can_be_generalized AND n_filled > 0 THEN ['quasi', 'its values are dates or times']
            WHEN named_coordinate IS NOT NULL AND records = 0 THEN [
                '{{ withheld }}',
                'review: its name says ' || named_coordinate
                    || ', and there are no records that show how precise it is'
            ]
            {# A word for a position in one language and a wage in another is decided by the values. #}
            WHEN named_coordinate IS NOT NULL AND (named_ambiguous IS NULL OR is_in_degrees)
                AND (named_ambiguous IS NULL OR NOT is_integral)
                AND NOT (is_in_degrees AND is_coarse AND NOT is_identifying_alone) THEN
                ['identifier', 'its name says ' || named_coordinate || ', and a precise position is an address']
            WHEN named_coordinate IS NOT NULL AND is_in_degrees AND NOT is_integral THEN
                ['quasi', 'its name says ' || named_coordinate || ', and its values are coarse']
            WHEN named_ambiguous IS NOT NULL
                AND (named_coordinate IS NULL OR is_in_degrees OR NOT is_position OR records = 0) THEN [
                '{{ withheld }}',
                'review: its name says ' || named_ambiguous || ', which means different things in different languages'
            ]
            WHEN named_coordinate IS NOT NULL AND named_ambiguous IS NULL AND named_quasi IS NULL THEN [
                '{{ withheld }}',
                'review: its name says ' || named_coordinate || ', but its values are whole numbers'
            ]
            WHEN named_sensitive IS NOT NULL AND (is_nearly_unique OR is_one_person_each) THEN [
                '{{ withheld }}',
                'review: its name says ' || named_sensitive || ', and nearly every '
                    || CASE WHEN is_nearly_unique THEN 'record' ELSE 'person' END
                    || ' has a value of its own, by which it would be found'
            ]
            WHEN named_sensitive IS NOT NULL AND n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }}
                AND n_uniques >= {{ limits.MIN_SINGLED_OUT_SHARE }} * n_filled THEN [
                '{{ withheld }}',
                'review: its name says ' || named_sensitive || ', and the exact value alone makes most records unique'
                    || CASE
                        WHEN n_outliers IS NOT NULL
                        THEN ': publish it rounded, as a column of its own, or as ranges, with the role quasi'
                        ELSE '' END
            ]
            WHEN named_sensitive IS NOT NULL AND can_be_generalized THEN
                ['sensitive', 'its name says ' || named_sensitive]
            {# Both ends of a range would be the value of one record. #}
            WHEN named_quasi IS NOT NULL AND is_identifying_alone THEN
                ['identifier', 'its name says ' || named_quasi || ', but nearly every record has a value of its own']
            WHEN named_quasi IS NOT NULL AND is_one_person_each AND NOT coalesce(is_postal, false)
                AND NOT coalesce(is_text AND is_covered, false) THEN
                ['identifier', 'its name says ' || named_quasi || ', but nearly every person has a value of its own']
            WHEN named_quasi IS NOT NULL AND can_be_generalized THEN ['quasi', 'its name says ' || named_quasi]
            WHEN n_filled >= {{ limits.MIN_UNIQUENESS_RECORDS }} AND is_keylike
                AND distinct_share >= {{ limits.NEARLY_ALL_SHARE }} THEN
                ['identifier', 'nearly every record has a value of its own']
            WHEN n_filled >= {{ limits.MIN_INTEGER_KEY_RECORDS }} AND is_whole AND distinct_values = n_filled THEN
                ['identifier', 'every record has a whole number of its own, as keys do']
            WHEN is_text AND is_covered AND near_hierarchy IN (
                {% for h in sensitive_hierarchies %}
                {{ h }}{{ sql(',') if not loop.last }}
                {% endfor %}
            ) THEN CASE
                WHEN diagnoses < {{ limits.NEARLY_ALL_SHARE }} OR distinct_values >= {{ limits.MIN_DIAGNOSIS_CODES }}
                THEN ['sensitive', 'its values are those of hierarchy ' || near_hierarchy]
                ELSE ['{{ withheld }}', 'review: its few values could be codes of diseases or of anything']
            END
            WHEN is_text AND is_covered THEN ['quasi', 'its values are those of hierarchy ' || near_hierarchy]
            WHEN is_text AND distinct_values >= {{ limits.MIN_DIAGNOSIS_CODES }}
                AND diagnoses >= {{ limits.NEARLY_ALL_SHARE }} THEN
                ['{{ withheld }}', 'review: its values look like ICD-10 codes, but not all are']
            WHEN records = 0 THEN [
                '{{ withheld }}',
                'review: the table has no records'
                    || CASE WHEN named_neutral IS NULL THEN ', and its name says nothing that is known' ELSE '' END
            ]
            WHEN named_neutral IS NOT NULL AND is_identifying_alone THEN
                ['identifier', 'its name says ' || named_neutral || ', but nearly every record has a value of its own']
            WHEN named_neutral IS NOT NULL AND can_be_generalized THEN ['quasi', 'its name says ' || named_neutral]
            ELSE [
                '{{ withheld }}',
                'review: ' || CASE
                    WHEN named_sensitive IS NULL AND named_quasi IS NULL AND named_neutral IS NULL
                    THEN 'neither its name nor its values say what it is'
                    ELSE 'values of its type cannot be generalized' END
            ]
        END AS proposal
    FROM ranked_columns AS r
    LEFT JOIN value_owners USING (place)
),
{% include 'policy/profiling/same_content.sql' %},
-- One row per column: the role that is finally proposed, the hierarchy, and the reason.
proposed_roles AS MATERIALIZED (
    SELECT
        *,
        proposal[1] AS role,
        role IN ('quasi', 'sensitive') AND near_hierarchy IS NOT NULL AS has_hierarchy,
        CASE WHEN has_hierarchy THEN near_hierarchy END AS hierarchy,
        CASE WHEN has_hierarchy THEN n_covered END AS covered_values,
        coalesce(has_hierarchy AND n_covered = n_known_values, false) AS is_hierarchy_complete,
        CASE
            WHEN n_outliers IS NOT NULL THEN n_outliers
            WHEN is_text AND role NOT IN ('identifier', 'person') THEN n_rare
        END AS outliers,
        CASE
            WHEN n_outliers IS NOT NULL AND n_filled = 0 THEN 'no values'
            WHEN n_outliers IS NOT NULL AND middle_percent IS NULL THEN 'not finite'
            WHEN n_outliers IS NOT NULL AND middle_percent = 0 THEN 'other than the middle 98 %, which are equal'
            WHEN n_outliers IS NOT NULL
            THEN 'beyond the middle ' || middle_percent || ' % by more than 3 times their width'
            WHEN is_text AND role NOT IN ('identifier', 'person')
            THEN 'values of fewer than {{ limits.RARE_RECORDS }} records'
        END || CASE WHEN n_not_finite > 0 THEN ', or not finite' ELSE '' END AS outliers_by,
        proposal[2] || CASE
            WHEN role = 'quasi' AND n_not_finite > 0
            THEN '; NaN or infinite values, to be replaced before a release: ' || n_not_finite
            ELSE ''
        END || CASE
            WHEN role = 'quasi' AND is_coded AND n_known_values BETWEEN 1 AND {{ max_codes }}
            THEN '; its numbers are codes of categories: build a hierarchy with hierarchy_flat'
            WHEN role <> 'quasi' OR NOT is_text THEN ''
            WHEN has_hierarchy AND NOT is_hierarchy_complete
            THEN '; values that the hierarchy misses, so that the statement leaves it out: '
                || (n_known_values - n_covered)
            WHEN has_hierarchy THEN ''
            WHEN numbers = 1 AND regexp_matches(named_quasi, {{ postal }})
            THEN '; build a hierarchy with hierarchy_prefix'
            WHEN numbers = 1
            THEN '; its texts are numbers: if they are quantities, they are published as ranges once they are repaired'
            WHEN is_date THEN '; its texts are dates, which are published as ranges once they are repaired'
            ELSE '; no known hierarchy covers it'
        END AS reason
    FROM distinct_proposals
)
