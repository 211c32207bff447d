{#- A role for each column, with the reason: by its name where its values do not contradict, else by its values. -#}
measured AS (
    SELECT
        f.*,
        f.records - f.missing AS filled,
        f.distinct_values / nullif(f.records - f.missing, 0) AS own,
        coalesce(f.uniques / nullif(f.records, 0), 0) AS unique_alone,
        coalesce(f.groups / nullif(f.records, 0), 0) AS distinction,
        CASE WHEN f.records > 1 THEN 1 - f.alike / (f.records::DOUBLE * (f.records - 1)) ELSE 0 END AS separation,
        CASE WHEN h.covered >= CASE WHEN h.affinity > 0 THEN {{ limits.COVERED }} ELSE {{ limits.NEARLY }} END * f.distinct_values THEN h.name END AS near_hierarchy,
        h.covered AS near_covered,
        h.covered = f.distinct_values AND (f.distinct_values > 1 OR h.affinity > 0) AS fits
    FROM fact AS f
    LEFT JOIN hierarchy AS h USING (place)
),
{# Keys that repeat may tell persons apart: those named after a person before numbers for life before any other. #}
keyed AS (
    SELECT
        *,
        CASE
            WHEN distinct_values < 2 OR distinct_values >= {{ limits.NEARLY }} * filled OR NOT tells_persons THEN NULL
            WHEN named_subject IS NOT NULL AND (own >= {{ limits.KEY_SHARE }} OR (named_key IS NOT NULL AND distinct_values >= {{ limits.KEYS }})) THEN 1
            WHEN named_number IS NOT NULL THEN 2
            WHEN named_key IS NOT NULL AND named_quasi IS NULL AND named_sensitive IS NULL AND own >= {{ limits.KEY_SHARE }}
                AND (is_keylike OR is_whole) AND filled >= {{ limits.FEW_ROWS }} THEN 3
        END AS person_rank
    FROM measured
),
ranked AS (
    SELECT
        *,
        CASE WHEN person_rank IS NOT NULL THEN row_number() OVER (
            ORDER BY person_rank ASC NULLS LAST, distinct_values DESC, place ASC
        ) = 1 END AS is_person
    FROM keyed
),
decided AS (
    SELECT
        *,
        CASE
            WHEN is_person THEN ['person', 'its name says ' || coalesce(named_subject, named_number, named_key)
                || ', and its values repeat: ' || distinct_values || ' in ' || filled || ' records']
            WHEN person_rank IS NOT NULL THEN ['identifier', 'its name says '
                || coalesce(named_subject, named_number, named_key) || ', and its values repeat, but another column is the person']
            WHEN named_number IS NOT NULL OR named_direct IS NOT NULL THEN
                ['identifier', 'its name says ' || coalesce(named_number, named_direct)]
            WHEN records > 0 AND filled = 0 THEN ['other', 'it has no values']
            WHEN coalesce(named_subject, named_key) IS NOT NULL AND (records = 0 OR own >= {{ limits.NEARLY }})
                AND named_quasi IS NULL AND named_sensitive IS NULL THEN
                ['identifier', 'its name says ' || coalesce(named_subject, named_key)
                    || CASE WHEN records > 0 THEN ', and nearly every record has a value of its own' ELSE '' END]
            WHEN form IS NOT NULL THEN ['identifier', 'its values look like ' || form]
            WHEN named_sensitive IS NOT NULL THEN ['sensitive', 'its name says ' || named_sensitive]
            WHEN named_quasi IS NOT NULL AND generalizes THEN ['quasi', 'its name says ' || named_quasi]
            WHEN is_text AND distinct_values >= {{ limits.DIAGNOSES }} AND diagnoses >= {{ limits.NEARLY }} THEN
                ['sensitive', 'its values look like ICD-10 codes']
            WHEN filled >= {{ limits.FEW_ROWS }} AND is_keylike AND own >= {{ limits.NEARLY }} THEN
                ['identifier', 'nearly every record has a value of its own']
            WHEN filled >= {{ limits.WHOLE_ROWS }} AND is_whole AND distinct_values = filled THEN
                ['identifier', 'every record has a whole number of its own, as keys do']
            WHEN is_prose AND own >= {{ limits.PROSE_SHARE }} THEN ['identifier', 'its texts are prose, which may name people']
            WHEN is_text AND fits AND near_hierarchy IN ({% for h in sensitive_hierarchies %}{{ h }}{% if not loop.last %}, {% endif %}{% endfor %}) THEN
                ['sensitive', 'its values are those of hierarchy ' || near_hierarchy]
            WHEN is_text AND fits THEN ['quasi', 'its values are those of hierarchy ' || near_hierarchy]
            WHEN records = 0 THEN ['other', 'the table has no records, and its name says nothing']
            WHEN groups = 1 THEN ['other', 'all records have the same value']
            WHEN NOT generalizes AND (rare > 0 OR named_quasi IS NOT NULL) THEN
                ['identifier', 'values of its type cannot be generalized, and they can single people out']
            WHEN rare > 0 THEN ['quasi', 'its name says nothing; records with values of fewer than {{ limits.RARE }}: ' || rare]
            ELSE ['other', 'its name says nothing; every value belongs to {{ limits.RARE }} records or more']
        END AS verdict
    FROM ranked
),
judged AS MATERIALIZED (
    SELECT
        *,
        verdict[1] AS role,
        role IN ('quasi', 'sensitive') AND near_hierarchy IS NOT NULL AS has_hierarchy,
        CASE WHEN has_hierarchy THEN near_hierarchy END AS hierarchy,
        CASE WHEN has_hierarchy THEN near_covered END AS covered,
        coalesce(has_hierarchy AND near_covered = distinct_values, false) AS applies,
        CASE
            WHEN outside IS NOT NULL THEN outside
            WHEN is_text AND role NOT IN ('identifier', 'person') THEN rare
        END AS outliers,
        CASE
            WHEN outside IS NOT NULL AND filled = 0 THEN 'no values'
            WHEN outside IS NOT NULL AND middle IS NULL THEN 'not finite'
            WHEN outside IS NOT NULL AND middle = 0 THEN 'other than the middle 98 %, which are equal'
            WHEN outside IS NOT NULL THEN 'beyond the middle ' || middle || ' % by more than 3 times their width'
            WHEN is_text AND role NOT IN ('identifier', 'person') THEN 'values of fewer than {{ limits.RARE }} records'
        END || CASE WHEN wild > 0 THEN ', or not finite' ELSE '' END AS outliers_by,
        verdict[2]
            || CASE WHEN role = 'quasi' AND wild > 0 THEN '; NaN or infinite values, to be replaced before a release: ' || wild ELSE '' END
            || CASE
                WHEN role = 'quasi' AND is_text AND has_hierarchy AND NOT applies THEN
                    '; values that the hierarchy misses, so that the statement leaves it out: ' || (distinct_values - near_covered)
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND numbers = 1 AND regexp_matches(named_quasi, 'zip|post|plz') THEN
                    '; build a hierarchy with hierarchy_prefix'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND numbers = 1 THEN '; its texts are numbers: if they are quantities, CAST them in a view to publish ranges'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy AND dates = 1 THEN '; its texts are dates: CAST them in a view to publish ranges'
                WHEN role = 'quasi' AND is_text AND NOT has_hierarchy THEN '; no known hierarchy covers it'
                ELSE '' END AS reason
    FROM decided
)
