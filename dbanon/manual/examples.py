"""One example for each function on the database of `dbanon demo`: the manual shows them, the tests run them."""

from __future__ import annotations

from dataclasses import dataclass

from dbanon.functions.table_function import table_functions


@dataclass(frozen=True)
class Example:
    """Code in SQL, Python or a shell (`sh`). `before` are SQL statements that must have run."""

    code: str
    before: tuple[str, ...] = ()
    language: str = "sql"


SAFE = ("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",)
"""Makes a release of the patients."""

_AGES = ("CREATE VIEW ages AS SELECT datesub('year', birth_date, DATE '2025-01-01') AS age FROM patients;",)
_ARX = "(HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\0')"
_QI = "qi = ['sex', 'zip']"
_JUDGED = f"{_QI}, sensitive = ['disease']"

_KINDS = {
    "release": "SELECT * FROM {}('patients', {}) LIMIT 5;",
    "classes": "SELECT * FROM {}('patients', {}) ORDER BY loss DESC LIMIT 5;",
    "metrics": "SELECT metric, value, better FROM {}('patients', {});",
}
"""Examples of the three functions of an algorithm."""

_OTHERS = {
    "inference": Example("SELECT * FROM inference('patients', k = 10, algorithm = 'mondrian') LIMIT 5;"),
    "algorithms": Example("SELECT name, family, source FROM algorithms();"),
    "policy_problems": Example("SELECT * FROM policy_problems();"),
    "releases": Example("SELECT name, version, status, records FROM releases();", SAFE),
    "release_status": Example("SELECT name, status, came, went, changed FROM release_status();", SAFE),
    "delta_problems": Example("SELECT * FROM delta_problems('safe');", SAFE),
    "composition": Example(
        "SELECT * FROM composition('safe', 'safe_too') LIMIT 5;",
        (*SAFE, "CREATE MATERIALIZED ANONYMIZED VIEW safe_too AS SELECT * FROM mondrian('patients', k = 10);"),
    ),
    "certificate": Example("SELECT * FROM certificate('safe');", SAFE),
    "profile": Example("SELECT * FROM profile('patients');"),
    "query_error": Example("SELECT * FROM query_error('safe', 'patients', queries = 100, seed = 1);", SAFE),
    "influence": Example("SELECT attribute, influence, rank FROM influence('patients', sensitive = ['disease']);"),
    "hierarchies": Example("SELECT * FROM hierarchies();"),
    "hierarchy_problems": Example("SELECT * FROM hierarchy_problems();"),
    "uncovered": Example("SELECT * FROM uncovered('patients', 'occupation', hierarchy = 'adult_occupation');"),
    "hierarchy_file": Example(
        "SELECT * FROM hierarchy_file('zip_again', 'zip.csv') LIMIT 5;",
        (f"COPY (FROM hierarchy_arx('zip5')) TO 'zip.csv' {_ARX};",),
    ),
    "hierarchy_shipped": Example("SELECT * FROM hierarchy_shipped('us_state') LIMIT 5;"),
    "hierarchy_arx": Example(f"COPY (FROM hierarchy_arx('zip5')) TO 'zip.csv' {_ARX};"),
    "hierarchy_flat": Example("SELECT * FROM hierarchy_flat('occupation', 'patients', 'occupation');"),
    "hierarchy_prefix": Example(
        "INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zip3', 'patients', 'zip', keep = [3]);"
    ),
    "hierarchy_intervals": Example(
        "INSERT INTO dbanon.hierarchy FROM hierarchy_intervals('age', 'ages', 'age', widths = [5, 10, 20]);", _AGES
    ),
    "hierarchy_dates": Example(
        "INSERT INTO dbanon.hierarchy\n"
        "FROM hierarchy_dates('birth_date', 'patients', 'birth_date', levels = ['year', 'decade']);"
    ),
    "k_anonymity": Example(f"SELECT * FROM k_anonymity('safe', {_QI});", SAFE),
    "l_diversity": Example(f"SELECT * FROM l_diversity('safe', {_JUDGED}, diversity = 'entropy');", SAFE),
    "t_closeness": Example(f"SELECT * FROM t_closeness('safe', {_JUDGED});", SAFE),
    "alpha_k": Example(f"SELECT * FROM alpha_k('safe', {_JUDGED});", SAFE),
    "p_sensitive": Example(f"SELECT * FROM p_sensitive('safe', {_JUDGED});", SAFE),
    "beta_likeness": Example(f"SELECT * FROM beta_likeness('safe', {_JUDGED}, likeness = 'enhanced');", SAFE),
    "anonymity": Example(f"SELECT * FROM anonymity('safe', {_JUDGED});", SAFE),
    "risk": Example(
        "SELECT name, sensitive, value, classes, records FROM risk('safe', source = 'patients', threshold = 0.1);", SAFE
    ),
    "reidentification": Example(
        "SELECT name, value FROM reidentification('safe', source = 'patients', fraction = 0.01);", SAFE
    ),
    "uniqueness": Example(
        "SELECT name, value FROM uniqueness('safe', source = 'patients', population = 'patients');",
        SAFE,
    ),
    "disclosure": Example("SELECT name, value, worst FROM disclosure('safe', source = 'patients');", SAFE),
    "exposure": Example("SELECT value, classes FROM exposure('safe', source = 'patients', ties = 'count');", SAFE),
    "distortion": Example(
        "SELECT value FROM distortion('safe', source = 'patients', influence = {'sex': 0.2, 'zip': 1.5});", SAFE
    ),
    "infeasible_classes": Example(
        "SELECT value, worst FROM infeasible_classes('safe', source = 'patients', w = 0.3);", SAFE
    ),
    "attack": Example(
        "SELECT guess, confidence, who FROM attack('safe', kind = 'homogeneity', source = 'patients') LIMIT 5;", SAFE
    ),
    "attack_summary": Example(
        "SELECT name, value, on_raw FROM attack_summary('safe', kind = 'reconstruction', source = 'patients');",
        SAFE,
    ),
    "lower_of": Example("SELECT lower_of('[25, 29]') AS low, lower_of('<=18') AS open;"),
    "upper_of": Example("SELECT upper_of('[25, 29]') AS high, upper_of('>=90') AS open;"),
    "midpoint": Example("SELECT midpoint('[25, 29]') AS middle;"),
    "lower_date_of": Example("SELECT birth_date, lower_date_of(birth_date) AS earliest FROM safe LIMIT 5;", SAFE),
    "upper_date_of": Example("SELECT birth_date, upper_date_of(birth_date) AS latest FROM safe LIMIT 5;", SAFE),
    "midpoint_date": Example("SELECT disease, avg(midpoint_date(birth_date)) AS born FROM safe GROUP BY ALL;", SAFE),
    "share_within": Example(
        "SELECT sum(share_within(birth_date, DATE '1950-01-01', DATE '1959-12-31')) AS expected FROM safe;", SAFE
    ),
    "covers": Example("SELECT count(*) AS possible FROM safe WHERE covers(zip, '02105', 'zip5');", SAFE),
}


def example(name: str) -> Example | None:
    """The example of a table function or a scalar function."""
    function = table_functions().get(name)
    if function is None or function.kind not in _KINDS:
        return _OTHERS.get(name)
    given = [p.example for p in function.parameters if p.required]
    if function.algorithm is None:
        given.append("algorithm = 'mondrian'")
    return Example(_KINDS[function.kind].format(name, ", ".join(given)))
