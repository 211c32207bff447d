"""What the measures of a release are, as Markdown: `dbanon docs metrics` and `.help metrics` show it."""

from collections.abc import Iterator

from dbanon.cli.manual.function_page import prose
from dbanon.release.plan import metrics
from dbanon.release.plan.metrics import Metric


def page() -> str:
    """Return all measures."""
    parts = [
        "# Metrics",
        "Each is one row of the functions that end in `_metrics`: `SELECT metric, value FROM kacpc_metrics('patients', "
        "k = 10);`. Where there are several values, as for each sensitive column, the name goes on after a colon. "
        "`published` says whether a measure follows from the released rows alone and goes out with them; the others "
        "are the custodian's.",
    ]
    for one in metrics.all_metrics():
        parts += _section(one)
    return "\n\n".join(parts) + "\n"


def section(name: str) -> str | None:
    """One measure, by its name with or without what stands behind the colon; None where there is none of that name."""
    wanted = name.lower().partition(":")[0]
    metric = next((one for one in metrics.all_metrics() if one.name == wanted), None)
    return None if metric is None else "\n\n".join(_section(metric)) + "\n"


def names() -> list[str]:
    """`metrics`, and the name of each measure."""
    return ["metrics", *(one.name for one in metrics.all_metrics())]


def _section(one: Metric) -> Iterator[str]:
    facts = {"better": one.better, "source": one.source.strip("-"), "only with": one.needs}
    facts["goes out with a release"] = "no, it is the custodian's" if one.custodian else "yes"
    lines = (f"- {name}: {prose(fact)}" for name, fact in facts.items() if fact)
    yield from (f"## {one.name}", prose(one.what.replace("{unit}", "records (persons)")), "\n".join(lines))
