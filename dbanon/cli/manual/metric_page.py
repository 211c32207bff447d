"""The manual's page of metrics, as Markdown: `dbanon docs metrics` and `.help metrics` print it."""

from collections.abc import Iterator

from dbanon.cli.manual.function_page import escape_markdown, join_parts
from dbanon.release.plan import metrics
from dbanon.release.plan.metrics import Metric


def page() -> str:
    """Return the page of all metrics as Markdown."""
    return join_parts(
        "# Metrics",
        "The functions that end in `_metrics` return one row for each metric: `SELECT metric, value FROM "
        "kacpc_metrics('patients', k = 10);`. If a metric has several values, such as one for each sensitive column, "
        "its name is followed by a colon and the column. `is_publishable` states whether a metric follows from the "
        "released rows alone and is published with them; the other metrics are for the custodian.",
        *(part for one in metrics.all_metrics() for part in _section(one)),
    )


def metric_section(name: str) -> str | None:
    """Return the section of a metric as Markdown; None if there is no metric of that name.

    The name may continue after a colon, as in `rare_value:disease`; case is ignored.
    """
    wanted = name.lower().partition(":")[0]
    metric = next((one for one in metrics.all_metrics() if one.name == wanted), None)
    return None if metric is None else join_parts(*_section(metric))


def metric_names() -> list[str]:
    """Return "metrics", the name of the page, and the names of all metrics."""
    return ["metrics", *(one.name for one in metrics.all_metrics())]


def _section(metric: Metric) -> Iterator[str]:
    """Yield the parts of a metric's section: heading, description, and a list of facts."""
    facts = {"better": metric.better, "source": metric.source.strip("-"), "only with": metric.requires}
    facts["published with a release"] = "no, it is for the custodian" if metric.custodian else "yes"
    yield from (
        f"## {metric.name}",
        escape_markdown(metric.description.replace("{unit}", "records (persons)")),
        "\n".join(f"- {name}: {escape_markdown(fact)}" for name, fact in facts.items() if fact),
    )
