"""Standards and law."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS = (
    Work(
        "ISO/IEC 20889",
        "ISO and IEC",
        "Privacy enhancing data de-identification terminology and classification of techniques",
        "ISO/IEC 20889:2018",
    ),
    Work(
        "ISO 25237",
        "ISO",
        "Health informatics: pseudonymization",
        "ISO 25237:2017",
    ),
    Work(
        "ISO/IEC 29100",
        "ISO and IEC",
        "Information technology, security techniques: privacy framework",
        "ISO/IEC 29100",
        also="ISO 29100",
    ),
    Work(
        "NIST SP 800-188",
        "Garfinkel, S., Near, J., Dajani, A., Singer, P. and Guttman, B.",
        "De-identifying government datasets: techniques and governance",
        "NIST Special Publication 800-188, 2023",
        "10.6028/NIST.SP.800-188",
    ),
    Work(
        "GDPR",
        "European Parliament and Council",
        "General Data Protection Regulation",
        "Regulation (EU) 2016/679",
    ),
    Work(
        "WP216",
        "Article 29 Data Protection Working Party",
        "Opinion 05/2014 on anonymisation techniques",
        "WP 216, 2014",
    ),
    Work(
        "ICD-10",
        "World Health Organization",
        "International statistical classification of diseases and related health problems, 10th revision",
        "",
        note="The chapters of the shipped hierarchy `icd10`.",
    ),
    Work(
        "ISO 3166",
        "ISO",
        "Codes for the representation of names of countries and their subdivisions",
        "ISO 3166-1",
        note="The codes of the shipped hierarchy `iso_country`.",
    ),
)
