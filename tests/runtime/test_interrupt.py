"""A long clustering stops within a second of Ctrl-C or `interrupt()`, and the connection remains usable."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

CHILD = textwrap.dedent(
    """
    import json, os, signal, sys, threading, time
    import duckdb
    import dbanon

    how, threads = sys.argv[1:]
    con = dbanon.attach(duckdb.connect()) if how == "plain" else dbanon.connect()
    con.execute(f"SET threads = {threads}")
    con.execute("SELECT setseed(0.5)").fetchall()
    con.execute(
        "CREATE TABLE big AS SELECT random() AS a, random() AS b, random() AS c, random() AS d, random() AS e "
        "FROM range(400_000)"
    )
    con.execute("CREATE TABLE small AS SELECT range % 100 AS a, range % 7 AS b FROM range(500)")
    small = "SELECT count(*) FROM kacpc('small', k := 5, qi := ['a', 'b'])"
    con.execute(small).fetchall()
    asked = None


    def clustering():
        for frame in sys._current_frames().values():
            while frame is not None:
                if frame.f_code.co_filename.endswith(("gather.py", "index.py")):
                    return True
                frame = frame.f_back
        return False


    def stop():
        global asked
        while not clustering():
            time.sleep(0.01)
        time.sleep(0.3)
        asked = time.monotonic()
        con.interrupt() if how == "interrupt" else os.kill(os.getpid(), signal.SIGINT)


    for _ in range(2):  # the first one compiles kernels, which nothing stops
        thread = threading.Thread(target=stop)
        thread.start()
        try:
            con.execute("CREATE TABLE safe AS FROM kacpc('big', k := 20, qi := ['a', 'b', 'c', 'd', 'e'])")
            error = None
        except BaseException as raised:
            delay, error = time.monotonic() - asked, type(raised).__name__
        thread.join()
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY 1").fetchall()
    print(json.dumps({
        "error": error,
        "delay": delay if error else None,
        "after": con.execute(small).fetchall()[0][0],
        "tables": [table for (table,) in tables],
        "rows": con.execute("SELECT count(*) FROM big").fetchall()[0][0],
    }))
    """
)


@pytest.mark.not_everyday
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("how", "error_names"),
    [
        ("plain", ("InvalidInputException", "RuntimeError", "KeyboardInterrupt", "InterruptException")),
        ("wrapped", ("KeyboardInterrupt",)),
        ("interrupt", ("InvalidInputException", "RuntimeError", "InterruptException")),
    ],
)
def test_long_clustering_stops_within_1_s_of_interrupt(how: str, error_names: tuple[str, ...], threads: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how, str(threads)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["error"] in error_names
    assert document["delay"] < 1
    assert document["after"] == 500
    assert document["tables"] == ["big", "small"]
    assert document["rows"] == 400_000
