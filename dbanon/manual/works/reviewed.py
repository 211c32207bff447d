"""Papers on algorithms that the review of clustering methods describes."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS: tuple[Work, ...] = (
    Work(
        "Ashkouti et al. 2021",
        "Ashkouti, F., Khamforoosh, K., Sheikhahmadi, A. and Khamfroush, H.",
        "DHkmeans-l-diversity: distributed hierarchical K-means for satisfaction of the l-diversity privacy model "
        "using Apache Spark",
        "The Journal of Supercomputing",
    ),
    Work(
        "Chiu and Tsai 2007",
        "Chiu, C.-C. and Tsai, C.-Y.",
        "A k-anonymity clustering method for effective data privacy preservation",
        "ADMA 2007, LNCS 4632",
    ),
)
