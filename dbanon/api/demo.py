"""A fictional hospital: 20,000 random patients, their policy and hierarchies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dbanon import errors
from dbanon.api.connection import Connection, connect
from dbanon.policy.declare import declare
from dbanon.policy.hierarchies.store import load_hierarchy
from dbanon.runtime import output_files, storage_version

if TYPE_CHECKING:
    import pandas as pd

SEED = 20_250_101
DEMO_COMMENT = "made by dbanon demo"

_FIRST_NAMES = {
    "F": "Mary Linda Susan Karen Nancy Sofia Amara Mei Fatima Elena Ingrid Priya Aisha Noor Hannah Grace Chloe",
    "M": "James Robert John Michael David Daniel Ahmed Wei Luca Mateo Ivan Omar Kofi Arjun Samuel Peter Noah Hugo",
}
_LAST_NAMES = (
    "Smith Johnson Nguyen Garcia Chen Kowalski Okafor Haddad Rossi Silva Kim Patel Novak Berg Dubois Keller Moreau "
    "Osei Ali Brown Evans Murphy Sato Costa Lindqvist Jansen"
)
# Towns: first three digits of the postal code, share of the patients, number of codes there.
_TOWNS = (
    ("021", 0.34, 40),
    ("024", 0.22, 30),
    ("018", 0.16, 25),
    ("010", 0.12, 20),
    ("027", 0.10, 20),
    ("012", 0.06, 15),
)
_JOBS = {
    "Exec-managerial": 0.13, "Prof-specialty": 0.16, "Tech-support": 0.05, "Sales": 0.12, "Adm-clerical": 0.13,
    "Craft-repair": 0.12, "Machine-op-inspct": 0.06, "Transport-moving": 0.05, "Handlers-cleaners": 0.04,
    "Other-service": 0.09, "Protective-serv": 0.03, "Farming-fishing": 0.02,
}  # fmt: skip
# Disease: base weight, change per decade of life above forty, weight for women, weight for men.
_DISEASES = {
    "Influenza": (9.0, 0.0, 1.0, 1.0),
    "Asthma": (6.0, -0.5, 1.2, 1.0),
    "Hypertension": (6.0, 1.6, 1.0, 1.1),
    "Type 2 diabetes": (4.0, 1.1, 0.9, 1.1),
    "Depression": (5.0, -0.2, 1.5, 1.0),
    "Migraine": (4.0, -0.3, 2.2, 1.0),
    "Coronary heart disease": (2.0, 1.3, 0.7, 1.4),
    "Osteoarthritis": (2.0, 1.0, 1.4, 1.0),
    "Breast cancer": (1.0, 0.3, 1.0, 0.01),
    "Prostate cancer": (0.8, 0.6, 0.0, 1.0),
    "Epilepsy": (1.0, 0.0, 1.0, 1.0),
    "HIV": (0.6, 0.0, 0.6, 1.2),
    "Parkinson's disease": (0.2, 0.4, 0.8, 1.2),
}


def make_patients(n_rows: int = 20_000, seed: int = SEED) -> pd.DataFrame:
    """Return a DataFrame of random patients; equal arguments give equal rows.

    Columns: patient_number, name, birth_date, sex, zip, marital_status, occupation, disease. Marital status and disease
    depend on age, disease also on sex.
    """
    import pandas as pd

    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n_rows, p=[0.53, 0.47])
    age = np.clip(random.gamma(6.5, 7.6, n_rows), 18, 99)
    birth_dates = np.datetime64("2025-01-01") - (age * 365.2425).astype("timedelta64[D]")
    first_names = {s: np.array(names.split()) for s, names in _FIRST_NAMES.items()}
    first_name = np.where(sex == "F", random.choice(first_names["F"], n_rows), random.choice(first_names["M"], n_rows))
    name = np.char.add(np.char.add(first_name.astype(str), " "), random.choice(np.array(_LAST_NAMES.split()), n_rows))
    return pd.DataFrame(
        {
            "patient_number": random.permutation(n_rows) + 100_001,
            "name": name,
            "birth_date": pd.to_datetime(birth_dates).date,
            "sex": sex,
            "zip": _make_zips(random, n_rows),
            "marital_status": _make_marital_statuses(random, age),
            "occupation": random.choice(list(_JOBS), n_rows, p=np.array([*_JOBS.values()]) / sum(_JOBS.values())),
            "disease": _make_diseases(random, age, sex),
        }
    )


def _make_zips(random: np.random.Generator, n_rows: int) -> Any:
    """Return n_rows random five-digit postal codes as texts.

    Towns are drawn by their share of the patients; within a town most people have one of a few codes.
    """
    town = random.choice(len(_TOWNS), n_rows, p=[share for _, share, _ in _TOWNS])
    n_codes = np.array([n_codes for _, _, n_codes in _TOWNS])[town]
    place = (random.beta(1.0, 2.2, n_rows) * n_codes).astype(int)
    prefix = np.array([prefix for prefix, _, _ in _TOWNS])[town]
    return np.char.add(prefix, np.char.zfill((place * 2 + 1).astype(str), 2))


def _make_marital_statuses(random: np.random.Generator, age: Any) -> Any:
    """Return one random marital status per age; the weights depend on the age."""
    statuses = np.array(["Never-married", "Married-civ-spouse", "Divorced", "Widowed", "Separated"])
    weights = np.stack(
        [
            np.exp(-(age - 18) / 14),
            0.9 - np.exp(-(age - 16) / 12),
            0.004 * (age - 18),
            np.exp((age - 92) / 14),
            0.03 + 0 * age,
        ]
    ).clip(0.001)
    return statuses[_draw_rows(random, weights)]


def _make_diseases(random: np.random.Generator, age: Any, sex: Any) -> Any:
    """Return one random disease per person; the weights depend on the age and the sex."""
    weights = np.stack(
        [
            np.maximum(base + slope * (age - 40) / 10, 0.05) * np.where(sex == "F", women, men)
            for base, slope, women, men in _DISEASES.values()
        ]
    )
    return np.array(list(_DISEASES))[_draw_rows(random, weights)]


def _draw_rows(random: np.random.Generator, weights: Any) -> Any:
    """Return for each column of `weights` a random row index, drawn in proportion to the column's weights."""
    shares = np.cumsum(weights / weights.sum(axis=0), axis=0)
    return (shares < random.random(weights.shape[1])).sum(axis=0).clip(max=len(weights) - 1)


def create_demo(path: Path, *, overwrite: bool = False) -> Connection:
    """Create the demo database and return an open connection to it; the file appears only when complete.

    It has a storage format that old versions of DuckDB can open.

    Args:
        path: The file of the database.
        overwrite: Whether to replace an earlier demo database, including everything that was added to it. Any other
            file is never replaced.

    Raises:
        DemoExistsError: The file exists, and `overwrite` is false or it is no demo database.
        TargetNotLocalError: The path is a URL.
        WriteFailedError: The system refuses to write the file.
    """
    output_files.local_target("demo", path)
    if path.exists() and not (overwrite and is_demo(path)):
        raise errors.DemoExistsError(str(path), is_demo(path))
    with output_files.open_draft("demo", path) as draft:
        try:
            with connect(draft, config={"storage_compatibility_version": storage_version.DEFAULT_VERSION}) as con:
                _create_patients(con)
        finally:
            output_files.wal_file(draft).unlink(missing_ok=True)
        output_files.wal_file(path).unlink(missing_ok=True)
    return connect(path)


def is_demo(path: Path) -> bool:
    """Return whether a file is a database that `create_demo` created, whatever was added to it later.

    False also if the file cannot be opened.
    """
    try:
        with connect(path, read_only=True) as connection:
            comments = connection.execute(
                "SELECT comment FROM system.main.duckdb_tables() WHERE table_name = 'patients'"
            ).fetchall()
    except Exception:  # no database, or one that another process has open
        return False
    return bool(comments == [(DEMO_COMMENT,)])


def _create_patients(con: Connection) -> None:
    """Create the table `patients` with its comment, three hierarchies and the policy of its columns."""
    con.register("made", make_patients())
    con.execute("CREATE TABLE patients AS SELECT * REPLACE (birth_date::DATE AS birth_date) FROM made")
    con.execute(f"COMMENT ON TABLE patients IS '{DEMO_COMMENT}'")
    con.unregister("made")
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zip5', 'patients', 'zip', keep = [4, 3])")
    load_hierarchy(con, "adult_marital_status")
    load_hierarchy(con, "adult_occupation")
    declare(
        con,
        "patients",
        patient_number="person",
        name="identifier",
        birth_date={"role": "quasi", "rounding": "year"},
        sex=("quasi", "sex"),
        zip=("quasi", "zip5"),
        marital_status=("quasi", "adult_marital_status"),
        occupation=("quasi", "adult_occupation"),
        disease="sensitive",
    )
