"""Plots are complete: one panel per metric, every algorithm in the legend, distinguishable without colours."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms.streams.metrics import STREAM_METRICS
from dbanon.audit.plots import drawing

NAMES = [algorithm.name for algorithm in algorithms.algorithms()][:12]


def run_row(algorithm: str, k: int, metric: str, mean: float | None, n: int = 1000, stddev: float | None = None) -> Any:
    seconds = None if mean is None else k / 100
    return {
        "algorithm": algorithm, "k": k, "n_quasi_identifiers": 6, "sample_size": None, "n": n,
        "metric": metric, "mean": mean, "stddev": stddev,
        "seconds": seconds, "runs": 1, "problem": None,
    }  # fmt: skip


def texts(figure: Any) -> list[str]:
    """Return all text of a figure."""
    return [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]


def test_one_panel_per_metric_one_line_per_algorithm() -> None:
    rows = [
        run_row(name, k, metric, k * place, stddev=0.5)
        for place, name in enumerate(NAMES, 1) for k in (5, 10, 20) for metric in ("precision", "ncp")
    ]  # fmt: skip
    figure = dbanon.plot(rows).figure
    panels = [panel for panel in figure.axes if panel.axison]
    assert [panel.get_title(loc="left") for panel in panels] == ["precision", "ncp", "seconds of clustering"]
    for panel in panels:
        assert [line.get_label() for line in panel.lines] == NAMES
        assert panel.get_xlabel() == "k"
        looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in panel.lines}
        assert len(looks) == len(NAMES)
        assert len({(line.get_marker(), line.get_linestyle()) for line in panel.lines}) >= 10  # without colours
    assert list(panels[1].lines[2].get_ydata()) == [15, 30, 60]
    assert list(panels[2].lines[0].get_ydata()) == [0.05, 0.1, 0.2]
    assert len(panels[0].collections) == len(NAMES)  # spread
    assert not panels[2].collections
    assert {"higher is better", "lower is better"} <= set(texts(figure))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == NAMES


def test_plot_axis_is_parameter_with_most_values() -> None:
    rows = [run_row("mdav", k, "ncp", n * k, n=n) for k in (5, 10) for n in (1000, 2000, 5000)]
    (panel, _) = dbanon.plot(rows).figure.axes[:2]
    assert panel.get_xlabel() == "records"
    assert [line.get_label() for line in panel.lines] == ["mdav, k = 5", "mdav, k = 10"]
    assert list(panel.lines[1].get_xdata()) == [1000, 2000, 5000]


def test_single_axis_value_drawn_as_labelled_bars() -> None:
    figure = dbanon.plot([run_row("mdav", 5, "ncp", 12.5), run_row("kacpc", 5, "ncp", 10.25, stddev=1.0)]).figure
    panel = figure.axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["kacpc", "mdav"]
    assert sorted(bar.get_width() for bar in panel.patches) == [10.25, 12.5]
    assert " 12.5" in texts(figure)


def test_better_direction_shown_for_compared_metrics() -> None:
    figure = dbanon.plot([run_row("mdav", 5, metric, 1.0) for metric in STREAM_METRICS]).figure
    panels = [panel for panel in figure.axes if panel.axison]
    actual_texts = {
        panel.get_title(loc="left"): [t.get_text() for t in panel.texts if "better" in t.get_text()] for panel in panels
    }
    assert len(actual_texts) == len(STREAM_METRICS) + 1
    assert all(value in (["higher is better"], ["lower is better"]) for value in actual_texts.values())
    assert actual_texts["query error"] == actual_texts["seconds of clustering"] == ["lower is better"]


def test_refused_runs_are_not_drawn() -> None:
    rows = [run_row("mdav", 5, "ncp", 1.0), {**run_row("oka", 5, "ncp", None), "metric": None}]
    assert "oka" not in texts(dbanon.plot(rows).figure)
    with pytest.raises(errors.InvalidArgumentError, match="1 without one"):
        dbanon.plot(rows[1:])


def tradeoff_row(algorithm: str, k: int, precision: float | None, frontier: bool | None, share: float | None) -> Any:
    return {
        "algorithm": algorithm, "k": k, "l": 1, "t": 1.0, "precision": precision, "ncp": 1.0, "query_error": None,
        "risk_highest": 1 / k, "risk_average": 0.5 / k, "homogeneous_share": share, "suppressed": 0.0,
        "frontier": frontier, "statement": "SELECT 1", "problem": None,
    }  # fmt: skip


def test_choices_plotted_as_risk_utility_with_frontier() -> None:
    rows = [
        tradeoff_row("mdav", 5, 0.9, True, 0.2),
        tradeoff_row("mdav", 10, 0.8, True, 0.1),
        tradeoff_row("oka", 10, 0.7, False, 0.3),
    ]
    figure = dbanon.plot(pd.DataFrame([*rows, tradeoff_row("oka", 20, None, None, None)])).figure
    panels = [panel for panel in figure.axes if panel.axison]
    assert [panel.get_title(loc="left") for panel in panels] == [
        "highest risk of re-identification", "average risk of re-identification",
        "records in classes of one sensitive value",
    ]  # fmt: skip
    filled_values = {
        (x, y)
        for line in panels[0].lines if line.get_fillstyle() == "full" and line.get_marker() not in ("None", "")
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }  # fmt: skip
    assert filled_values == {(0.9, 0.2), (0.8, 0.1)}
    assert {"k = 5", "k = 10", "mdav", "oka"} <= set(texts(figure))
    assert len(dbanon.plot([{**row, "homogeneous_share": None} for row in rows]).figure.axes) == 2


def test_plot_accepts_subset_of_tradeoffs_rows() -> None:
    beaten = [tradeoff_row("oka", 10, 0.7, False, 0.3), tradeoff_row("oka", 20, 0.6, False, None)]
    assert "oka" in texts(dbanon.plot(beaten).figure)
    mixed = [tradeoff_row("mdav", 5, 0.9, True, None), tradeoff_row("mdav", 10, 0.8, True, 0.1)]
    assert len(dbanon.plot([*beaten, *mixed]).figure.axes) == 3


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_plot_saved_atomically_and_reproducibly(tmp_path: Path, ending: str) -> None:
    rows = [run_row("mdav", k, "ncp", math.sqrt(k)) for k in (5, 10)]
    one = dbanon.plot(rows).save(tmp_path / f"one.{ending}")
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending]
    assert one.read_bytes().startswith(begins)
    if ending != "pdf":
        assert dbanon.plot(rows).save(tmp_path / f"two.{ending}").read_bytes() == one.read_bytes()
    assert dbanon.plot(rows).save(one) == one
    assert {path.name for path in tmp_path.iterdir()} <= {f"one.{ending}", f"two.{ending}"}


def test_svg_plot_keeps_texts_for_notebook() -> None:
    plot = dbanon.plot([run_row("mdav", k, "ncp", k) for k in (5, 10)])
    actual_texts = {element.text for element in ElementTree.fromstring(plot._repr_svg_()).iter() if element.text}
    assert {"ncp", "mdav", "seconds of clustering"} <= actual_texts


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "got no rows"),
        ([{"a": 1}], "rows of compare() or tradeoffs(), at least one, got a"),
        (pd.DataFrame({"algorithm": ["mdav"]}), "got algorithm"),
    ],
)
def test_plot_refuses_other_rows(rows: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        dbanon.plot(rows)
    assert message in str(caught.value)


def test_plot_names_invalid_files_and_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plot = dbanon.plot([run_row("mdav", 5, "ncp", 1.0)])
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(errors.InvalidArgumentError, match=r"a file that ends in \.svg, \.png, \.pdf"):
        plot.save(tmp_path / "out.gif")
    with pytest.raises(errors.TargetNotLocalError):
        plot.save("s3://bucket/out.svg")
    with pytest.raises(errors.WriteFailedError):
        plot.save(tmp_path / "folder.svg")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(errors.MissingExtraError, match=r"pip install -e '\.\[plot\]'"):
        dbanon.plot([run_row("mdav", 5, "ncp", 1.0)])
    with pytest.raises(errors.MissingExtraError):
        drawing.check_plot_path(tmp_path / "out.svg")


def test_svg_plot_is_as_wide_as_its_page() -> None:
    tag = re.search(r"<svg\b[^>]*>", dbanon.plot([run_row("mdav", 5, "ncp", 1.0)])._repr_svg_())
    assert tag is not None and not re.search(r' (width|height)="', tag[0])
    assert re.search(r'style="width: 100%; max-width: [\d.]+pt; height: auto"', tag[0])


def test_equal_results_share_one_label() -> None:
    found = [
        {"algorithm": "best", "k": 5, "l": diversity, "t": 1, "precision": 0.8, "risk_highest": 0.2, "frontier": True,
         "statement": ""}
        for diversity in (1, 2, 3)
    ]  # fmt: skip
    found.append({**found[0], "l": 4, "precision": 0.5, "risk_highest": 0.1})
    figure = dbanon.plot(found).figure
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["l = 1 to 3", "l = 4"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-3:] == ["frontier", "on the frontier", "not on the frontier"]
    top = figure.axes[0].get_ylim()[1]
    assert top > 0.2


def test_seconds_have_two_digits() -> None:
    texts = [
        t.get_text() for panel in dbanon.plot([run_row("mdav", 5, "ncp", 1.2345)]).figure.axes for t in panel.texts
    ]
    assert " 1.234" in texts or " 1.235" in texts
    assert any(re.fullmatch(r" \d(\.\d)?|\s0\.0*\d{1,2}", text) for text in texts)
