"""`dbanon warmup` compiles the kernels that calls need, reports them, and does nothing the second time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main


def test_repeated_warmup_compiles_nothing() -> None:
    steps: list[tuple[str, float]] = []
    done = dbanon.warmup(["kacpc"], lambda step, share: steps.append((step, share)))
    assert done.folder is not None and done.seconds > 0
    names = [step for step, _ in steps]
    assert names[0] == "kacpc" and "kacpc with l, many values" in names and "kacpc with t, persons" in names
    shares = [share for _, share in steps]
    assert shares[0] == 0 and shares == sorted(shares) and shares[-1] < 1
    outcome = CliRunner().invoke(main, ["warmup", "kacpc", "--json"])
    assert json.loads(outcome.stdout) == {
        "kernels": 0, "seconds": pytest.approx(1, abs=30), "folder": done.folder
    }  # fmt: skip
    second_outcome = CliRunner().invoke(main, ["warmup", "kacpc", "--quiet"])
    assert (second_outcome.exit_code, second_outcome.stdout, second_outcome.stderr) == (
        0,
        "Everything was compiled already.\n",
        "",
    )


def test_warmup_of_unknown_algorithm_raises() -> None:
    result = CliRunner().invoke(main, ["warmup", "kapc"])
    assert result.exit_code == 2 and "Did you mean 'kacpc'?" in result.stderr


def test_warmup_without_writable_cache_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbanon.kernels.jit.cache_folder", lambda: None)
    result = CliRunner().invoke(main, ["warmup", "kacpc"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cannot be stored" in result.stderr and "Hint: set NUMBA_CACHE_DIR" in result.stderr
    document = CliRunner().invoke(main, ["warmup", "kacpc", "--json"])
    assert document.exit_code == 3 and json.loads(document.stdout)["folder"] is None


CALLS = textwrap.dedent(
    """
    import sys
    import dbanon
    from dbanon.kernels import compile_events

    compiled = []
    con = dbanon.connect()
    con.execute(
        "CREATE TABLE t AS SELECT i % 7 AS a, 'c' || i % 5 AS c, 'd' || i % 4 AS d, i // 2 AS p, "
        "(i * 7919) % 1009 AS w, (i * 7907) % 997 AS v FROM range(600) r (i)"
    )
    asked = ["", "sensitive = ['d'], l = 2", "sensitive = ['d'], t = 0.8", "sensitive = ['d'], l = 2, person = 'p'"]
    for algorithm in sys.argv[1:]:
        for qi in ("['a', 'c']", "['a', 'c', 'w', 'v']"):
            for more in asked:
                call = f"{algorithm}('t', k = 5, qi = {qi}{', ' * bool(more)}{more})"
                with compile_events.listen(lambda kernel: compiled.append((call, kernel))):
                    con.execute(f"FROM {call}").fetchall()
    for call, kernel in compiled:
        print(call, kernel)
    """
)


@pytest.mark.not_everyday
@pytest.mark.parametrize("algorithm", ["kacpc", "best"])
def test_call_after_warmup_compiles_nothing(algorithm: str, tmp_path: Path) -> None:
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    warm = [sys.executable, "-m", "dbanon", "warmup", algorithm]
    first = subprocess.run(warm, capture_output=True, text=True, env=cold, check=True)
    assert "kernels were compiled in" in first.stdout and str(tmp_path) in first.stdout
    called = [sys.executable, "-c", CALLS, algorithm]
    output = subprocess.run(called, capture_output=True, text=True, env=cold, check=True).stdout
    assert [line for line in output.splitlines() if line.startswith(f"{algorithm}(")] == []  # and no progress bar
