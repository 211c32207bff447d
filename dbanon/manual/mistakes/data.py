"""What a table does not allow."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import FEW, SHAPES, Mistake, python, sql

_WIDE = """CREATE TABLE wide AS
SELECT patient_number % 4 AS a, a AS b, a AS c, a AS d, a AS e, a AS f, a AS g, a AS h, a AS i, a AS j, a AS m, sex
FROM patients;"""
"""Eleven numbers of four values each: three levels."""

MISTAKES: tuple[Mistake, ...] = (
    sql(errors.NotStored("covers", "zip55"), "SELECT covers('Boston', '02138', 'zip55');"),
    sql(
        errors.NothingShared(
            "query_error", "diseases", "patients", ("birth_date", "sex", "zip", "marital_status", "occupation")
        ),
        "FROM query_error('diseases', 'patients');",
        "CREATE TABLE diseases AS SELECT disease FROM patients;",
    ),
    sql(
        errors.NotAPublishedForm(
            "query_error",
            "vague",
            "birth_date",
            1,
            "2020-01-31, [2020-01-01, 2020-01-31], 2020-01, 2020-Q1, [1926, 1934], and the same of times",
        ),
        "FROM query_error('vague', 'patients', qi = ['birth_date']);",
        "CREATE TABLE vague AS SELECT 'about 1950' AS birth_date FROM patients;",
    ),
    sql(
        errors.ManyValues("ml_utility", "few", "patient_number", 150, 100),
        "FROM ml_utility('numbered', 'few', qi = ['sex'], target = 'patient_number');",
        "CREATE TABLE few AS FROM patients LIMIT 150;",
        "CREATE TABLE numbered AS SELECT sex, patient_number FROM few;",
    ),
    sql(
        errors.FewRecords("ml_utility", "shapes", "nothing"),
        "FROM ml_utility('shapes', 'shapes', qi = ['gender'], target = 'nothing');",
        SHAPES,
    ),
    sql(errors.KOutOfRange("kacpc", "few", 500, 200, "rows"), "FROM kacpc('few', k = 500, qi = ['sex']);", FEW),
    python(
        errors.OtherComparison("visits", "something else"),
        'dbanon.compare(con, "few", into="visits", k=[5], qi=["sex"])',
        FEW,
        "CREATE TABLE visits (day DATE);",
    ),
    sql(
        errors.TooFew("kacpc", "one", 1, "row"),
        "FROM kacpc('one', k = 2, qi = ['sex']);",
        "CREATE TABLE one AS FROM patients LIMIT 1;",
    ),
    sql(
        errors.TooSmallBlock("kacpc", "k = 60", 50, ["gender"]),
        "FROM kacpc('shapes', k = 60, qi = ['gender'], hierarchies = {'gender': 'sex'}, max_level = {'gender': 0});",
        SHAPES,
    ),
    sql(
        errors.RoundAboveLevel("kacpc", "zip", 3),
        "FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip5'}, max_level = {'zip': 1}, "
        "round = {'zip': 3});",
        FEW,
    ),
    Mistake(
        errors.TooLarge("kmember", 1_000_000, 100_000, "some 40 minutes"),
        when="It comes from algorithms whose time can grow with the square of the table, where that is more than a "
        "minute or two. The first clusters tell.",
    ),
    sql(
        errors.TooManyLevels("ldiversity_mondrian", 4**11, 2_000_000),
        "FROM ldiversity_mondrian('wide', k = 2, qi = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'm'], "
        "sensitive = ['sex'], base := 'incognito');",
        _WIDE,
    ),
    sql(
        errors.ModelNotMet("kacpc", "l = 5", "star", "l = 2"),
        "FROM kacpc('shapes', k = 10, qi = ['gender'], sensitive = ['star'], l = 5);",
        SHAPES,
    ),
    sql(errors.NoSensitive("kacpc", "few", "l"), "FROM kacpc('few', k = 10, qi = ['zip'], l = 2);", FEW),
    sql(
        errors.NoSensitiveHierarchy("kacpc", "patients", "disease"),
        "FROM kacpc('patients', k = 10, t = 0.3, emd = 'hierarchical');",
    ),
    sql(errors.UnusedArgument("kacpc", "emd", "t is not given"), "FROM kacpc('patients', k = 10, emd = 'ordered');"),
    sql(errors.NoValues("kacpc", "shapes", "nothing"), "FROM kacpc('shapes', k = 10, qi = ['nothing']);", SHAPES),
    sql(
        errors.NullsRefused("kacpc", "shapes", "sex", 100),
        "FROM kacpc('shapes', k = 10, qi = ['sex'], nulls = 'error');",
        SHAPES,
    ),
    sql(
        errors.NullsRefused("fads", "shapes", "sex", 100, is_stream=True),
        "FROM fads('shapes', k = 10, delta = 100, order_by = 'star', qi = ['sex'], nulls = 'error');",
        SHAPES,
    ),
    sql(
        errors.NullArrival("fads", "shapes", "sex"),
        "FROM fads('shapes', k = 10, delta = 100, order_by = 'sex', qi = ['gender']);",
        SHAPES,
    ),
    sql(
        errors.NotFinite("kacpc", "shapes", "weight", 50),
        "FROM kacpc('shapes', k = 10, qi = ['weight']);",
        SHAPES,
    ),
    Mistake(
        errors.Interrupted("kacpc"),
        when="It comes when Ctrl-C is pressed, or con.interrupt() is called from another thread, during clustering.",
    ),
    Mistake(
        errors.GateRefused("kacpc", "records are in classes below k", 3),
        when="It comes when an algorithm has a defect: the gate checks every result anew and lets no row leave.",
    ),
)
