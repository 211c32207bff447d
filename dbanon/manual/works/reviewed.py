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
    Work(
        "Fan et al. 2023",
        "Fan, Y., Shi, X., Zhang, S. and Tong, Y.",
        "Anonymous methods based on multi-attribute clustering and generalization constraints",
        "Electronics 12(8), 1897",
    ),
    Work(
        "Loukides and Shao 2007",
        "Loukides, G. and Shao, J.",
        "Capturing data usefulness and privacy protection in k-anonymisation",
        "ACM Symposium on Applied Computing 2007, 370-374",
    ),
    Work(
        "Nayahi and Kavitha 2017",
        "Nayahi, J. J. V. and Kavitha, V.",
        "Privacy and utility preserving data clustering for data anonymization and distribution on Hadoop",
        "Future Generation Computer Systems 74, 393-408",
    ),
    Work(
        "Lawrance and Jesudhasan 2021",
        "Lawrance, J. U. and Jesudhasan, J. V. N.",
        "Privacy preserving parallel clustering based anonymization for big data using MapReduce framework",
        "Applied Artificial Intelligence 35(15), 1587-1620",
    ),
)
