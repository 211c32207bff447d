"""The first call compiles each kernel once for its types, and nothing that the call does not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

from dbanon.kernels import jit, kernel_cache

CHILD = textwrap.dedent(
    """
    import json, sys
    from numba.core import event
    import dbanon

    compiled = []

    class Listener(event.Listener):
        def on_start(self, event):
            pass

        def on_end(self, event):
            function = event.data["dispatcher"].py_func
            if function.__module__.startswith("dbanon."):
                compiled.append((function.__name__, str(event.data["args"])))

    con = dbanon.connect()
    con.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 5 AS b, 'd' || i % 4 AS d FROM range(200) r (i)")
    listener = Listener()
    event.register("numba:compile", listener)
    con.execute(f"FROM {sys.argv[1]}('t', k = 5, qi = ['a', 'b'])").fetchall()
    print(json.dumps(compiled))
    """
)


@pytest.mark.parametrize("function", ["kacpc", "best"])
def test_first_call_compiles_every_kernel_once(function: str, tmp_path: Path) -> None:
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    completed = subprocess.run(
        [sys.executable, "-c", CHILD, function], capture_output=True, text=True, env=cold, check=False
    )
    assert completed.returncode == 0, completed.stderr
    compiled = json.loads(completed.stdout.splitlines()[-1])  # after a progress bar of DuckDB
    names = {name for name, _ in compiled}
    assert ("find_records" if function == "kacpc" else "sweep_classes") in names
    unused = {"is_column_valid", "can_join", "carve_class", "_is_valid_by_persons", "axes_bound", "axis_minima"}
    assert not names & unused
    constants = [(name, types) for name, types in compiled if "Literal" in types]
    assert constants == []


@pytest.mark.parametrize("is_known", [False, True])
def test_other_numba_compiles_parts_consistently(is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "IS_KNOWN_NUMBA", is_known)
    twice = jit.kernel_part(lambda x: 2 * x)
    compiled = numba.njit(lambda x: twice(x) + twice(x + 1))
    assert compiled(3) == 14
    assert len(twice.dispatcher.signatures) == 1


KERNELS = textwrap.dedent(
    """
    import sys
    import numpy as np
    from dbanon.kernels.jit import kernel

    @kernel
    def doubled(values):
        result = np.empty(len(values), np.int64)
        for i in range(len(values)):
            result[i] = 2 * values[i]
        return result

    @kernel
    def doubled_total(values):
        return doubled(values).sum()

    values = np.arange(5)
    print(doubled(values).tolist(), "numba.np.arrayobj" in sys.modules, sum(doubled.stats.cache_hits.values()))
    if sys.argv[1] == "second":
        print(doubled_total(values), doubled(values[::2]).tolist())
    """
)


@pytest.mark.skipif(not jit.IS_KNOWN_NUMBA, reason="the cache is for numba 0.68")
def test_loading_kernel_skips_declarations_of_numba(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    outputs = [
        subprocess.run(
            [sys.executable, path, process], capture_output=True, text=True, env=environment, check=True
        ).stdout.splitlines()
        for process in ("first", "second")
    ]
    assert outputs == [["[0, 2, 4, 6, 8] True 0"], ["[0, 2, 4, 6, 8] False 1", "20 [0, 4, 8]"]]


PART_AND_KERNEL = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    import numpy as np
    sys.path.insert(0, str(Path(__file__).parent))
    import arguments
    from dbanon.kernels import kernel_cache
    from dbanon.kernels.jit import kernel

    kernel_cache._sources_stamp = lambda: sys.argv[1]

    @kernel
    def scaled_total(numbers):
        return arguments.scaled(numbers.values).sum()

    numbers = arguments.NUMBERS(np.arange(5))
    print(scaled_total(numbers), sum(scaled_total.stats.cache_hits.values()))
    """
)

ARGUMENTS = textwrap.dedent(
    """
    from typing import Any, NamedTuple
    from dbanon.kernels.jit import kernel_part

    class CLASS(NamedTuple):
        values: Any

    NUMBERS = CLASS

    @kernel_part
    def scaled(values):
        return FACTOR * values
    """
)


@pytest.mark.skipif(not jit.IS_KNOWN_NUMBA, reason="the cache is for numba 0.68")
def test_kernel_is_compiled_again_if_its_parts_or_classes_change(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(PART_AND_KERNEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(class_name: str, factor: int) -> str:
        """Return the total and the number of cache hits of a process in which parts and classes are these."""
        source = ARGUMENTS.replace("CLASS", class_name).replace("FACTOR", str(factor))
        (tmp_path / "arguments.py").write_text(source)
        command = [sys.executable, str(tmp_path / "kernels.py"), source]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.strip()

    assert [run("Numbers", 2), run("Numbers", 2)] == ["20 0", "20 1"]
    assert run("Numbers", 3) == "30 0"
    assert [run("Values", 3), run("Values", 3)] == ["30 0", "30 1"]


def test_stamp_of_sources_names_every_kernel_module() -> None:
    folder = Path(kernel_cache.__file__).parent
    stamps = {path: (size, modified_at) for path, size, modified_at in kernel_cache._sources_stamp()}
    assert set(stamps) == {f"{path.parent.name}/{path.name}" for path in folder.rglob("*.py")}
    stat = (folder / "streams" / "castle.py").stat()
    assert stamps["streams/castle.py"] == (stat.st_size, stat.st_mtime_ns)
