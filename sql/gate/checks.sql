{#- Checks of every release, whatever it publishes; computed from the steps published_rows, class_originals,
    regrouped_classes and record_classes, and the measures of the models. -#}
{%- from 'shared/record_assignment.sql' import dealt, records, shown_values with context -%}
{%- from 'privacy_models/is_satisfied.sql' import met -%}
{# A number that identifies the unchanged values of a row; `named` if columns have the names of the release. #}
{% macro checksum(named=false) -%}
    {% if unchanged %}hash({% for u in unchanged %}{% if not loop.first %}, {% endif %}\
        {{ u.name if named else u.column }}{% endfor %})::HUGEINT{% else %}0{% endif %}
{%- endmacro %}
{#- The number of records that are to be released, suppressed or dropped. -#}
{% macro records_due() -%}
(
                SELECT coalesce(sum(size), 0) FROM source
                {% if nulls == 'drop' %}WHERE {% for q in quasi %}\
                    {% if not loop.first %} AND {% endif %}{{ q.column }} IS NOT NULL{% endfor %}{% endif %}
            )
{%- endmacro %}
{#- The number of kinds of records with a class in which none of their records is: their persons would count there. -#}
{% macro n_misassigned() -%} (SELECT count(*) FROM record_classes WHERE size < 1) {%- endmacro %}
{#- Each class with its records in the source (originals) and as they are released (released): their numbers, and the
    checksums of their unchanged values. `relation`: rows with class_id, size and checksum. -#}
{% macro compared_classes(relation) -%}
(SELECT class_id, sum(size) AS size, sum(checksum) AS checksum FROM class_originals GROUP BY class_id) AS originals
        FULL JOIN (SELECT class_id, sum(size) AS size, sum(checksum) AS checksum FROM {{ relation }} \
            GROUP BY class_id) AS released USING (class_id)
{%- endmacro %}
{#- Whether the records of such a class, or their unchanged values, differ from those of the source. -#}
{% macro is_untrue() -%}
released.size IS DISTINCT FROM originals.size OR released.checksum IS DISTINCT FROM originals.checksum
{%- endmacro %}
{#- Records (persons) by class. -#}
{% macro sizes() -%}
{% if person %}
SELECT l.class_id, count(DISTINCT s.person) AS size FROM {{ records() }} GROUP BY l.class_id
{% else %}
SELECT class_id, sum(size) AS size FROM released_values GROUP BY class_id
{% endif %}
{%- endmacro %}
{#- Whether the rows are in another order than that of their published values: each is compared with its predecessor.
    -#}
{% macro out_of_order() -%}
(
        SELECT
            count(*) FILTER (WHERE (l.place <> 1 AND b.place IS NULL) OR l.own < b.own)
            + coalesce(count(*) <> max(l.place), false)::INTEGER AS rows
        FROM ({{ own_rows() }}) AS l
        LEFT JOIN ({{ own_rows() }}) AS b ON b.place = l.place - 1
    ) AS ordered
{%- endmacro %}
{#- DuckDB 2.0 crashes where it compares rows that hold an ARRAY: it is a list here. -#}
{% macro own_rows() -%}
SELECT {{ place }} AS place, row({{ class_id }}{% if noise %}{% for r in rules %}, \
    {{ r.text }}{% endfor %}{% endif %}{% for u in unchanged %}, \
    {{ sql(u.row_value(u.name)) }}{% if not u.text_is_value %}, {{ u.name }}::VARCHAR{% endif %}{% endfor %}) AS own \
    FROM published_rows
{%- endmacro %}
{#- A column of the release would go before an alias of its name. -#}
{% macro refuse_rows() -%}
WHEN (SELECT struct_keys({{ row_alias }}) \
    FROM (SELECT * EXCLUDE ({{ copies }}, {{ place }}) FROM published_rows LIMIT 1) AS {{ row_alias }}) \
    <> {{ published_names }} THEN {{ messages.failure('published columns', gate_say.columns) }}
        WHEN reread.differs THEN {{ messages.failure('second reading of the source', gate_say.reread) }}
        WHEN ordered.rows > 0 THEN {{ messages.failure('order of the rows', gate_say.order) }}
{%- endmacro %}
{% macro refuse_left_out() -%}
{% if suppress %}
        WHEN left_out.records > {{ suppress }}::DOUBLE * counted.records_due\
            {% if max_suppressed is not none %} OR left_out.records \
            > {{ max_suppressed }}{% endif %} THEN {{ messages.failure('suppressed records', gate_say.outliers) }}
        {% for u in unchanged if u.check_rare %}
        WHEN {{ 'rare'|of(u) }}.values > 0 THEN {{ messages.failure('rare values of ' ~ u.raw_name, u.say_rare_left) }}
        {% endfor %}
        {% if check_combinations %}
        WHEN rare_together.values > 0 THEN {{ messages.failure('rare combinations of values', say.rare_together_left) }}
        {% endif %}
        {% endif %}
{%- endmacro %}
{#- What pseudonyms would reveal about persons. -#}
{% macro refuse_links() -%}
{% if follows is defined and follows %}
        {% for r in read_links %}
        WHEN (SELECT texts FROM {{ 'merged'|of(r) }}) > 0 \
            THEN {{ messages.failure('pseudonyms of ' ~ r.raw_name, gate_say['merged ' ~ r.raw_name]) }}
        {% endfor %}
        WHEN (SELECT persons FROM linked_below_k) > 0 THEN {{ messages.failure('linked rows below k', gate_say.alone) }}
        {% if unchanged|selectattr('check_rare')|list %}
        WHEN (SELECT persons FROM rare_linked) > 0 \
            THEN {{ messages.failure('linked rows with rare values', gate_say.rarely) }}
        {% endif %}
        {% endif %}
{%- endmacro %}
{% macro refuse_models() -%}
{% for s in model_columns %}{% for m in s.models %}
        WHEN {{ ('violations of ' ~ m.parameter)|of(m) }}.classes > 0 \
            THEN {{ messages.failure(m.parameter ~ ' of ' ~ m.raw_name, gate_say['model' ~ m.number]) }}
        {% if follows is defined and follows %}
        WHEN {{ ('linked violations of ' ~ m.parameter)|of(m) }}.classes > 0 \
            THEN {{ messages.failure('linked rows: ' ~ m.parameter ~ ' of ' ~ m.raw_name, \
            gate_say['followed' ~ m.number]) }}
        {% endif %}
        {% endfor %}{% endfor %}
{%- endmacro %}
{#- Suppressed and dropped records, unchanged values that are rare without them, and classes that do not meet a model.
    -#}
{% macro left_out_and_judged() -%}
{% if suppress %}
    , (SELECT coalesce(sum(size), 0) AS records FROM record_classes WHERE class_id = -1) AS left_out
    {% for u in unchanged if u.check_rare %}
    , (
        SELECT count(*) AS values
        FROM (
            SELECT {% if person %}count(DISTINCT s.person){% else %}sum({{ dealt() }}){% endif %} AS size
            FROM {{ records() }}
            GROUP BY {{ shown_values([u], sql('s.')) }}
        )
        WHERE size < {{ k }}
    ) AS {{ 'rare'|of(u) }}
    {% endfor %}
    {% if check_combinations %}
    , (
        SELECT count(*) AS values
        FROM (
            SELECT {% if person %}count(DISTINCT s.person){% else %}sum({{ dealt() }}){% endif %} AS size
            FROM {{ records() }}
            GROUP BY {{ shown_values(unchanged|selectattr('check_rare')|list, sql('s.')) }}
        )
        WHERE size < {{ k }}
    ) AS rare_together
    {% endif %}
    {% endif %}
    {% for s in model_columns %}{% for m in s.models %}
    {# A class that is not judged is counted too. #}
    , (
        SELECT (SELECT count(*) FROM {{ 'class sizes'|of(s) }}) - count(*) FILTER (WHERE {{ met(m) }}) AS classes
        FROM {{ ('measured ' ~ m.label)|of(m) }}
    ) AS {{ ('violations of ' ~ m.parameter)|of(m) }}
    {% if follows is defined and follows %}
    , (
        SELECT (SELECT count(*) FROM {{ 'followed sizes'|of(s) }}) - count(*) FILTER (WHERE {{ met(m) }}) AS classes
        FROM {{ ('followed ' ~ m.label)|of(m) }}
    ) AS {{ ('linked violations of ' ~ m.parameter)|of(m) }}
    {% endif %}
    {% endfor %}{% endfor %}
{%- endmacro %}
