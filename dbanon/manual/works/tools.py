"""Software and data."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS = (
    Work(
        "ARX",
        "Prasser, F., Eicher, J., Spengler, H., Bild, R. and Kuhn, K. A.",
        "Flexible data anonymization using ARX: current status and challenges ahead",
        "Software: Practice and Experience 50(7), 1277-1304, 2020",
        "10.1002/spe.2812",
    ),
    Work(
        "sdcMicro",
        "Templ, M., Kowarik, A. and Meindl, B.",
        "Statistical disclosure control for micro-data using the R package sdcMicro",
        "Journal of Statistical Software 67(4), 2015",
        "10.18637/jss.v067.i04",
    ),
    Work(
        "SAP HANA",
        "Kessler, S., Hoff, J. and Freytag, J.-C.",
        "SAP HANA goes private: from privacy research to privacy aware enterprise analytics",
        "Proceedings of the VLDB Endowment 12(12), 1998-2009, 2019",
        "10.14778/3352063.3352119",
    ),
    Work(
        "DuckDB",
        "Raasveldt, M. and Mühleisen, H.",
        "DuckDB: an embeddable analytical database",
        "SIGMOD 2019, 1981-1984",
        "10.1145/3299869.3320212",
    ),
    Work(
        "scikit-learn",
        "Pedregosa, F. et al.",
        "Scikit-learn: machine learning in Python",
        "Journal of Machine Learning Research 12, 2825-2830, 2011",
    ),
    Work(
        "UCI Adult",
        "Becker, B. and Kohavi, R.",
        "Adult",
        "UCI Machine Learning Repository, 1996",
        "10.24432/C5XW20",
    ),
    Work(
        "UCI Diabetes",
        "Strack, B. et al.",
        "Impact of HbA1c measurement on hospital readmission rates: analysis of 70,000 clinical database patient "
        "records",
        "BioMed Research International 2014, 781670",
        "10.1155/2014/781670",
    ),
    Work(
        "Synthea",
        "Walonoski, J. et al.",
        "Synthea: an approach, method, and software mechanism for generating synthetic patients and the synthetic "
        "electronic health care record",
        "Journal of the American Medical Informatics Association 25(3), 230-238, 2018",
        "10.1093/jamia/ocx079",
    ),
)
