"""Mistakes with keys, pseudonyms, masks and shifted dates."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        errors.KeyMissing("the environment variable DBANON_KEY", "is not set"),
        when="It comes where a pseudonym is published and its key is not where the policy says.",
    ),
    Mistake(
        errors.WeakKey("the file /etc/clinic/key", "it has 16 bytes"),
        when="It comes where the key of pseudonyms is too short or was made up by somebody.",
    ),
    Mistake(
        errors.UnreadableKeyReference("key"),
        when="It comes where the policy or a call gives something other than where the key is.",
    ),
    Mistake(
        errors.InvalidForm("visits.patient", "length", 2, "an integer from 4 to 64 for the format hex"),
        when="It comes where a setting of a pseudonym, mask or shift is none.",
    ),
    Mistake(
        errors.NoDataSubject("kacpc", "visits", ["patient", "visit"]),
        when="It comes where columns of a table have the role pseudonym, none is the person, and none says it is.",
    ),
    Mistake(
        errors.UnlikeForms("kacpc", "visits", ["patient", "mother"]),
        when="It comes where two columns name one scope, so that equal values have one pseudonym, and differ in form.",
    ),
    Mistake(
        errors.NotMade("kacpc", "visits.notes", "pseudonym", "it has the type VARCHAR[]", "numbers, text or UUIDs"),
        when="It comes where a column has a type that cannot be made so, or dates have no person to be shifted by.",
    ),
    Mistake(
        errors.NoKeyedColumns("castle", "visits", ["patient"], "a stream"),
        when="It comes where a stream, a release with noise or Spark would have to publish such a column.",
    ),
    Mistake(
        errors.ShiftedTooFar("kacpc", "visits.day", "DATE", 30),
        when="It comes where a date is so close to the end of its type that it cannot be shifted.",
    ),
    Mistake(
        errors.SharedPseudonym("kacpc", "visits.patient", 363, 4, 7),
        when="It comes where pseudonyms are so short that two values would share one.",
    ),
    Mistake(
        errors.LinkedAlone("kacpc", "visits", ["patient"], 3, 10),
        when="It comes where a pseudonym links the rows of persons, and too few persons have rows in the same classes.",
    ),
    Mistake(
        errors.LinkedModel("kacpc", "visits", ["patient"], "l", "disease", 2),
        when="It comes where a class meets a model, and the persons of it whose rows are in the same classes do not.",
    ),
    Mistake(
        errors.LinkedRare("kacpc", "visits", ["patient"], ["ward"], 3, 10),
        when="It comes where each value is common, and those that the linked rows of a person have together are not.",
    ),
    Mistake(
        errors.LinkedVersions("safe", ["safe version 1"], "12 persons miss k then"),
        when="It comes where a refresh would let readers follow people by their pseudonyms to sets of too few.",
    ),
)
