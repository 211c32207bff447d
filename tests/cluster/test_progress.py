"""How far clustering has come: a share that only grows, from algorithms that know it, and costs no release anything."""

from __future__ import annotations

import numpy as np
import pytest

import dbanon
from dbanon.cluster.progress import STEP, Work, work


def test_a_part_of_a_stretch_says_its_share_of_the_whole_and_little_is_not_said() -> None:
    said: list[float] = []
    whole = Work(lambda: None, said.append)
    whole.come(0.5)
    whole.come(0.5 + STEP / 2)
    whole.part(0.5, 0.9).come(0.5)
    whole.part(0.9, 1).come(3)
    assert said == pytest.approx([0.5, 0.7, 1.0])
    assert work(whole) is whole
    work(lambda: None).come(1)  # nobody listens


def test_the_check_of_a_part_is_that_of_the_whole() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Work(stop, lambda share: None).part(0, 0.5)()


@pytest.mark.parametrize(
    "call", ["best('people', k=5", "mondrian('people', k=5", "mondrian('people', k=5, improve=500"]
)
def test_the_share_grows_from_the_beginning_to_the_end_and_the_release_is_the_same(call: str) -> None:
    rows = np.random.default_rng(7).integers(0, (400, 300, 4), (3000, 3))
    told: list[tuple[float, float]] = []
    releases = []
    for progress in (None, lambda done, saved: told.append((done, saved))):
        with dbanon.connect(progress=progress) as con:
            con.execute("CREATE TABLE people (a INTEGER, b INTEGER, c INTEGER)")
            con.executemany("INSERT INTO people VALUES (?, ?, ?)", rows[:300].tolist())
            con.execute("INSERT INTO people SELECT (a * 7 + i) % 400, (b * 5 + i) % 300, c FROM people, range(5) r(i)")
            releases.append(con.execute(f"FROM {call}, qi=['a', 'b', 'c'])").fetchall())
    shares = [done for done, _ in told]
    assert releases[0] == releases[1]
    assert shares == sorted(shares) and len(shares) > 20
    assert shares[0] < 0.3 and shares[-1] == pytest.approx(1.0, abs=STEP)
