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
        errors.UnreadableKeyReference(),
        when="It comes where the policy or a call gives something other than where the key is.",
    ),
    Mistake(
        errors.InvalidForm("visits.patient", "length", 2, "an integer from 4 to 64 for the format hex"),
        when="It comes where a setting of a pseudonym, mask or shift is none.",
    ),
)
