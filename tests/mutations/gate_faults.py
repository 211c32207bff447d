"""Faults between the source and the output, behind and within the release gate."""

from __future__ import annotations

from .fault import Fault

GATE_FAULTS: dict[str, Fault] = {}
