"""`dbanon demo` fits one screen, ends with statements that work, and reports compilation."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import numba
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.cli.terminal import common
from dbanon.release.key_metrics import MAX_KEY_METRICS, key_metric_positions, shorten_description


@pytest.fixture(scope="module")
def demo_output(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the output of the demo, and the database that it made."""
    path = str(tmp_path_factory.mktemp("demo") / "demo.duckdb")
    result = CliRunner().invoke(main, ["demo", "--database", path])
    assert result.exit_code == 0, result.output
    return result.stdout.replace(path, "dbanon_demo.duckdb"), path


def test_demo_output_fits_one_screen(demo_output: tuple[str, str]) -> None:
    lines = demo_output[0].splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 80
    assert re.search(r"\n  precision +0\.8\d+  Share of", demo_output[0])


@pytest.mark.not_everyday
def test_statements_at_end_of_demo_run(demo_output: tuple[str, str]) -> None:
    statements = demo_output[0].rstrip().splitlines()[-3:]
    assert demo_output[0].splitlines()[-4] == "Try, in dbanon shell dbanon_demo.duckdb"
    assert all(line.startswith("  ") and line.endswith(";") for line in statements)
    (extra,) = re.findall(r"^  \d+ more: (FROM .*);$", demo_output[0], re.MULTILINE)
    with dbanon.connect(demo_output[1]) as con:
        for statement in (*statements, extra):
            assert con.execute(statement.strip()).fetchall()


def test_headline_has_eight_rows_and_model_metrics() -> None:
    names = ["c_avg", "records", "k_full_record", "k", "homogeneous_share", "homogeneous_share:d",
    "t_closeness:d", "classes",
             "risk_highest", "precision", "gcp", "risk_average", "suppressed"]  # fmt: skip
    assert [names[i] for i in key_metric_positions(names)] == [
        "records", "classes", "k", "t_closeness:d", "precision", "k_full_record", "suppressed", "homogeneous_share"
    ]  # fmt: skip
    assert len(key_metric_positions(names)) == MAX_KEY_METRICS and key_metric_positions(["c_avg"]) == []
    assert shorten_description("Achieved k: least records.", 40) == "Achieved k"


def test_compiling_notice_once_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def twice(n: int) -> int:
        return 2 * n

    importlib.import_module("dbanon.kernels.jit")  # it reports what is compiled
    result = numba.njit(twice)  # a kernel that is not cached on disk
    with common.show_progress(False):
        assert result(3) == 6 and result(3.0) == 6.0
    out, err = capsys.readouterr()
    assert (out, err) == ("", common.COMPILING_MESSAGE + "\n")
    with common.show_progress(False):
        assert result(4) == 8
    with common.show_progress(True):
        assert result(True) == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.not_everyday
def test_demo_accepts_models_and_prints_json(tmp_path: Path) -> None:
    path = str(tmp_path / "demo.duckdb")
    result = CliRunner().invoke(main, ["demo", "--database", path, "-k", "20", "-l", "3", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (
        document["database"] == path
        and document["metrics"]["k"] >= 20
        and document["metrics"]["l_diversity:disease"] >= 3
    )
