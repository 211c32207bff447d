{#- The source without the records that are withheld since an erasure, or the withheld records themselves (`held`). Of
    equal records, those that are equal to a member in all published values are withheld first. If `remaining_members`
    are given, all other records are withheld, too, and so are `deferred_members`: which of several equal records does
    not matter. It is used in place of the name of the source. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key, mark with context -%}
(
SELECT {% if held %}*{% else %}unnest("dbanon record"){% endif %}
FROM (
    SELECT
        r.*, {% if version_constraints.withheld_members %}coalesce(h.records, 0) AS held,
        row_number() OVER (PARTITION BY r.mark ORDER BY coalesce(list_contains(h.hashes, r.row_hash), false) DESC, \
            r.row_hash ASC) AS place{% else %}0 AS held, 1 AS place{% endif %}

    FROM (
        SELECT "dbanon record", {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, \
            {{ mark() }} AS mark{% if held %}{% for q in quasi %}, {{ q.column }}{% endfor %}{% for u in unchanged %}, \
            {{ u.column }}{% endfor %}{% endif %}
        FROM (
            SELECT
                {% for q in quasi %}{{ q.value }} AS {{ q.column }}, {% endfor %}
                {% for u in unchanged %}{{ u.value }} AS {{ u.column }}, {% endfor %}
                {% if person %}{{ person }} AS person, {% endif %}
                {% if key %}{{ key }} AS key, {% endif %}
                "dbanon source" AS "dbanon record"
            FROM {{ full_source }} AS "dbanon source"
        )
    ) AS r
    {% if version_constraints.withheld_members %}
    LEFT JOIN (
        SELECT mark, sum(records) AS records, list(row_hash) AS hashes
        FROM (SELECT {{ mark(sql('member')) }} AS mark, row_hash, records \
            FROM {{ version_constraints.withheld_members }})
        GROUP BY mark
    ) AS h ON h.mark = r.mark
    {% endif %}
) AS r
{% if version_constraints.remaining_members and not held %}
LEFT JOIN (
    SELECT row_hash, person_key, sum(records) AS records FROM {{ version_constraints.remaining_members }} GROUP BY ALL
) AS o ON o.row_hash = r.row_hash AND o.person_key IS NOT DISTINCT FROM r.person_key
{% elif version_constraints.deferred_members and not held %}
LEFT JOIN (
    SELECT row_hash, person_key, sum(records) AS records FROM {{ version_constraints.deferred_members }} GROUP BY ALL
) AS w ON w.row_hash = r.row_hash AND w.person_key IS NOT DISTINCT FROM r.person_key
{% endif %}
WHERE {% if held %}r.place <= r.held{% else %}r.place > r.held{% endif %}
{% if version_constraints.remaining_members and not held %}
QUALIFY row_number() OVER (PARTITION BY r.row_hash, r.person_key) <= coalesce(o.records, 0)
{% elif version_constraints.deferred_members and not held %}
QUALIFY row_number() OVER (PARTITION BY r.row_hash, r.person_key) > coalesce(w.records, 0)
{% endif %}
)
