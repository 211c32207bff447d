"""Columns whose names say categories, such as sex: their numbers are codes, their F and T no truth values."""

import re

from dbanon.policy.column_names.date_words import word_pattern
from dbanon.policy.column_names.hints import hints_from_name, split_words

_CATEGORY_WORDS = """
    sex gender* race* ethnic* marital* relationship* religion* country countries region* province* state states
    nationality* citizenship* occupation* profession* language* blood* concept
    *geschlecht* *familienstand* zivilstand* konfession* *religion* bundesland* *beruf* *nationalitat*
    sexe genre *matrimonial* civil pays *nationalite* sexo genero *civil* raza pais* *nacionalidad* *ocupacion*
    raca *nacionalidade* *ocupacao* sesso genere civile razza *nazionalita* geslacht* burgerlijk* *beroep* plec
    kon kjonn civilstand* sukupuoli yrke* *пол пол *семейн* *профессии* cinsiyet* *medeni* *kelamin* perkawinan* pohlavi
    nem φυλο gioitinh *性别* *性別* *婚姻* *民族* *国籍* *國籍* *성별* *결혼* *혼인* *국적* *جنس* *लिंग*
    """
"""Words for categories without an order; `*` stands for any letters."""

_CATEGORIES = word_pattern(_CATEGORY_WORDS)

_CODE_WORDS = frozenset({"code", "codes", "cd", "kode", "codigo", "codice", "kod", "код"})
"""Words for codes; with them the values of any quasi-identifier are codes."""

_POSTAL_WORDS = re.compile("zip|post|plz|pocztow|^ce?p$|^cap$|pincode|индекс|邮编|郵編|郵便|우편|पिन")
"""Words for a zip code, whose beginnings have a meaning."""

MAX_CODES = 50
"""Maximum distinct values of a column of codes."""


def is_category_name(name: str) -> bool:
    """Return whether the name of a column says categories without an order.

    >>> is_category_name('gender_concept_id'), is_category_name('MaritalCode'), is_category_name('age')
    (True, True, False)
    """
    words = split_words(name)
    if any(_POSTAL_WORDS.search(word) for word in words):
        return False
    if any(_CATEGORIES.fullmatch(word) for word in words):
        return True
    hints = hints_from_name(name)
    return hints.quasi is not None and hints.event is None and not _CODE_WORDS.isdisjoint(words)
