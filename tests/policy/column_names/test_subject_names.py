"""Names of columns with the number of a person are recognized in the languages of the vocabulary."""

from __future__ import annotations

import pytest

from dbanon.policy.column_names.hints import hints_from_name

NAMES = """
    número de paciente; numero_paciente; número do paciente; numéro de patient; Numéro du client; numero del paziente;
    número de empleado; número da pessoa; numero dipendente; personne numéro; nº de paciente; código de paciente;
    Nummer des Patienten; nr pacjenta; номер пациента; номер пацієнта; hasta numarası; nomor pasien; číslo pacienta;
    id klienta; beteg száma; număr pacient; αριθμός ασθενή; κωδικός πελάτη; patientNo; number of the patient; 患者番号
"""


@pytest.mark.all_cases
@pytest.mark.parametrize("name", [name.strip() for name in NAMES.split(";")])
def test_number_of_person_names_subject(name: str) -> None:
    assert hints_from_name(name).subject is not None


@pytest.mark.all_cases
@pytest.mark.parametrize("name", ["número de hijos", "numero_visitas", "numéro de chambre", "number of children"])
def test_number_of_things_names_no_subject(name: str) -> None:
    assert hints_from_name(name).subject is None
