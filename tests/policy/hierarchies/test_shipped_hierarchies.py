"""Checks of the generalization hierarchies that ship in hierarchies/."""

import csv
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "hierarchies"
NAMES = [
    "adult_education",
    "adult_marital_status",
    "adult_native_country",
    "adult_occupation",
    "adult_race",
    "adult_relationship",
    "adult_salary",
    "adult_sex",
    "adult_workclass",
    "icd10",
    "iso_country",
    "sex",
    "us_state",
    "us_state_name",
]
FILES = sorted(set(NAMES) | {path.stem for path in FOLDER.glob("*.csv")})
TERRITORIES = ["Territories", "Outside the regions", "*"]


def read(name: str) -> list[list[str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";", strict=True))


def parents(name: str) -> dict[str, list[str]]:
    """Return each leaf with its labels above it, up to the root."""
    return {row[0]: row[1:] for row in read(name)}


@pytest.mark.parametrize("name", FILES)
def test_shipped_file_is_utf8_with_unix_line_ends(name: str) -> None:
    content = (FOLDER / f"{name}.csv").read_bytes()
    assert content.endswith(b"\n")
    assert b"\r" not in content
    assert not content.startswith(b"\xef\xbb\xbf")
    content.decode("utf-8")


@pytest.mark.parametrize("name", FILES)
def test_shipped_rows_lead_from_leaf_to_root(name: str) -> None:
    rows = read(name)
    assert rows
    for row in rows:
        assert len(row) >= 2, row
        assert row[-1] == "*", row
        assert "*" not in row[:-1], row
        assert all(label and label == label.strip() for label in row), row


@pytest.mark.parametrize("name", FILES)
def test_shipped_leaves_are_unique(name: str) -> None:
    leaves = [row[0] for row in read(name)]
    assert len(leaves) == len(set(leaves))


@pytest.mark.parametrize("name", FILES)
def test_shipped_inner_labels_have_single_parent(name: str) -> None:
    """A node is its path to the root, so one label may have only one path and is never a leaf too."""
    rows = read(name)
    paths: dict[str, list[str]] = {}
    for row in rows:
        for i in range(1, len(row) - 1):
            assert paths.setdefault(row[i], row[i:]) == row[i:], row
    assert paths.keys().isdisjoint(row[0] for row in rows)


def test_adult_workclass_has_paper_tree() -> None:
    assert parents("adult_workclass") == {
        "Private": ["*"],
        "Self-emp-not-inc": ["Self-emp", "*"],
        "Self-emp-inc": ["Self-emp", "*"],
        "Federal-gov": ["Gov", "*"],
        "Local-gov": ["Gov", "*"],
        "State-gov": ["Gov", "*"],
        "Without-pay": ["*"],
    }


@pytest.mark.parametrize("name", ["us_state", "us_state_name"])
def test_us_states_have_regions_and_divisions(name: str) -> None:
    above = parents(name)
    states = [up for up in above.values() if up != TERRITORIES]
    assert len(states) == 51
    assert len(above) - len(states) == 5
    assert {up[1] for up in states} == {"Northeast", "Midwest", "South", "West"}
    assert len({up[0] for up in states}) == 9


def test_us_state_files_have_equal_parents() -> None:
    assert sorted(parents("us_state").values()) == sorted(parents("us_state_name").values())
    territories = {leaf for leaf, up in parents("us_state").items() if up == TERRITORIES}
    assert territories == {"AS", "GU", "MP", "PR", "VI"}


def test_iso_country_has_249_codes_and_un_regions() -> None:
    above = parents("iso_country")
    assert len(above) == 249
    assert all(len(code) == 2 and code.isascii() and code.isalpha() and code.isupper() for code in above)
    assert above["TW"] == ["Eastern Asia", "Asia", "*"]
    assert above["NG"] == ["Western Africa", "Africa", "*"]
    assert above["CU"] == ["Caribbean", "Americas", "*"]


@pytest.mark.parametrize(
    ("code", "chapter"),
    [
        ("A00", "I Certain infectious and parasitic diseases (A00-B99)"),
        ("E11", "IV Endocrine, nutritional and metabolic diseases (E00-E90)"),
        ("I21", "IX Diseases of the circulatory system (I00-I99)"),
        ("U07", "XXII Codes for special purposes (U00-U99)"),
        ("Z99", "XXI Factors influencing health status and contact with health services (Z00-Z99)"),
    ],
)
def test_icd10_code_belongs_to_chapter(code: str, chapter: str) -> None:
    assert parents("icd10")[code] == [chapter, "*"]


def test_icd10_codes_lie_within_chapter_range() -> None:
    above = parents("icd10")
    assert len({up[0] for up in above.values()}) == 22
    for code, (chapter, _) in above.items():
        first, last = chapter[-8:-1].split("-")
        assert first <= code <= last, code
        assert {first, last} <= above.keys(), chapter
    assert above.keys().isdisjoint({"D49", "E91", "H96", "K94", "P97", "T99", "V00", "Y99"})
