{#- The identity of a record across versions: a hash of all relevant values, and its person. Values are hashed as
    canonical texts (see dbanon/source/canonical_text.py), the same in every version of DuckDB. A pseudonym is not
    included: it follows from the person, and differs between releases of the same record. -#}
{#- After `(md5_number(text)`: the bits that DuckDB's md5_number_lower returns, which takes four times as long, because
    it writes and reads them as text. -#}
{% macro upper_half() -%}
    >> 64::UHUGEINT)::UBIGINT
{%- endmacro %}
{#- `part`: a macro for the text of a column, if it is known; otherwise the text of its value after `from`. -#}
{% macro unchanged_texts(from, named, part) -%}
    {% for u in unchanged if not u.is_link %}, ';', {% if part %}{{ part(u) }}{% else %}\
        {{ u.hashed|filled(value=sql(from, u.name if named else u.column)) }}{% endif %}{% endfor %}
{%- endmacro %}
{% macro row_hash(from, part=none) -%}
    (md5_number(concat('dbanon 2'{% for q in quasi %}, ';', {% if part %}{{ part(q) }}{% else %}\
        {{ q.hashed|filled(value=sql(from, q.column)) }}{% endif %}{% endfor %}\
        {{ unchanged_texts(from, false, part) }}{% if person %}, \
        ';', coalesce(strlen({{ person_key(from) }})::VARCHAR || ':' || {{ person_key(from) }}, '-'){% endif %})) \
        {{ upper_half() }}
{%- endmacro %}
{#- The same hash of the values that are published unchanged; `named` if columns have the names of the release. -#}
{% macro value_hash(from, named, part=none) -%}
    (md5_number(concat('dbanon 2'{{ unchanged_texts(from, named, part) }})) {{ upper_half() }}
{%- endmacro %}
{#- The same hash of one value of a column. -#}
{% macro cell(c, value) -%}
    (md5_number('dbanon 2;' || {{ c.canonical|filled(value=value) }}) {{ upper_half() }}
{%- endmacro %}
{#- The same hash column by column: versions that publish different columns can be compared by those that both have. -#}
{% macro cells(from, named) -%}
    [{% for u in unchanged if not u.is_link %}{% if not loop.first %}, {% endif %}\
        {{ cell(u, sql(from, u.name if named else u.column)) }}{% endfor %}]::UBIGINT[]
{%- endmacro %}
{#- The same hash of the quasi-identifiers as they are in the source: these identify the people of two versions that
    have different keys, or none. -#}
{% macro quasi_cells(from) -%}
    [{% for q in quasi %}{% if not loop.first %}, {% endif %}{{ cell(q, sql(from, q.column)) }}{% endfor %}]::UBIGINT[]
{%- endmacro %}
{% macro person_key(from) -%}
    {% if person %}{{ person_text|filled(value=sql(from, 'person')) }}{% elif key %}{{ from }}key\
        {% else %}NULL::VARCHAR{% endif %}
{%- endmacro %}
{#- The values by which a record is withheld: the person with each value or, if persons are not identified, all
    relevant values of the record. -#}
{% macro mark(of='') -%}
    {% if person or key %}md5_number_lower(row({% if of == 'member' %}person_key, \
        value_hash{% else %}{{ person_key(sql('')) }}, {{ value_hash(sql(''), false) }}{% endif %})::VARCHAR)\
        {% elif of == 'member' %}row_hash{% else %}{{ row_hash(sql('')) }}{% endif %}
{%- endmacro %}
{#- The order of records with equal codes: a hash of values that are published unchanged (columns), and of the person.
    It is versioned: DuckDB's own hash may change, and is used only if neither text nor order distinguishes unequal
    values, such as members of a UNION. -#}
{% macro tie(from, columns, of_person) -%}
    (md5_number(row('dbanon 1'{% for u in columns %}, {% if u.is_zoned %}epoch_us({{ from }}{{ u.column }})\
        {% else %}{{ from }}{{ u.column }}{% endif %}{% if u.is_tagged %}, \
        hash({{ from }}{{ u.column }}){% endif %}{% endfor %}{% if of_person %}, \
        {{ from }}person{% endif %})::VARCHAR) \
        {{ upper_half() }}
{%- endmacro %}
