"""Words in the names of columns that have dates: days of birth, death, admission and others, but no durations."""

import re

from dbanon.policy.column_names.hints import split_words

_DATE_WORDS = """
    date* *date dates dob dod doa birthday* born birthdate* deathdate* datetime* timestamp* admitted discharged enrolled
    hired *datum* datums geb geboren gebdat* *geburtstag* gebtag *fecha* fechas nacido *nacimiento naiss* *naissance
    *nascita nato nata *nascimento nasc *geboorte* *dato dato* *dag fodt fodd *fodselsdag* *fodelsedag* pvm *paiva*
    *urodzeni* *дата* *рожден* data* dia narozeni* szulet* nasterii *γεννησ* *ημερομηνια* *tarih* *dogum* tanggal* tgl
    *lahir* ngay* 日期 出生 生日 生年月日 日付 誕生日 날짜 일자 생년월일 생일 *تاريخ* *ميلاد* *तारीख* *दिनांक* *जन्म*
"""

_NO_DATE_WORDS = """
    day days daily dataset database datasets rate rates update* candidate* mandate* consolidat* validat* alldag* vardag*
    data
"""

_BIRTH_WORDS = """
    *birth* born dob *geburt* geb geboren gebdat* gebtag *naiss* *nacim* nacido *nascita nato nata nasc* *geboorte*
    fodt fodd *fodsel* *fodelse* syntyma* *urodzeni* *рожден* narozeni* szulet* nasterii *γεννησ* *dogum* *lahir*
    kelahiran* ngaysinh 出生 生日 生年月日 誕生日 생년월일 생일 *ميلاد* *ولادة* *जन्म*
"""

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without spaces between words, whose words match wherever they occur."""


def word_pattern(words: str) -> re.Pattern[str]:
    """Return a pattern that matches a word of a list; `*` stands for any letters."""
    stems = (f"*{word}*" if _UNSPACED.search(word) else word for word in words.split())
    return re.compile("|".join(re.escape(stem).replace(r"\*", ".*") for stem in stems))


_DATES, _NO_DATES, _BIRTHS = map(word_pattern, (_DATE_WORDS, _NO_DATE_WORDS, _BIRTH_WORDS))


def is_date_name(name: str) -> bool:
    """Return whether the name of a column says that its values are dates.

    >>> [is_date_name(name) for name in ("date_of_birth", "Aufnahmedatum", "visit days", "update_count")]
    [True, True, False, False]
    """
    return any(_DATES.fullmatch(word) and not _NO_DATES.fullmatch(word) for word in split_words(name))


def is_birth_name(name: str) -> bool:
    """Return whether the name of a column says that its values are about births.

    >>> [is_birth_name(name) for name in ("birth_date", "GebDatum", "admission_date")]
    [True, True, False]
    """
    return any(_BIRTHS.fullmatch(word) for word in split_words(name))
