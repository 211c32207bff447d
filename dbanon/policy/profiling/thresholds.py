"""Thresholds by which profile() proposes the role of a column.

A proposal is a start and not a verdict: it errs on the safe side, and the custodian decides. If neither the name nor
the values of a column suggest a role, it is withheld for review; no column is published unchanged only because nothing
is known against it.
"""

RARE_RECORDS = 10
"""Records below which a value is rare: the default k, at which an `insensitive` column with such a value is refused."""

NEARLY_ALL_SHARE = 0.95
"""Share of distinct values, or of values with one pattern, that counts as nearly all: typing errors must not matter."""

MIN_KEY_DISTINCT_SHARE = 0.05
"""Minimum distinct values per record of a key with repetitions: 20 records per key on average. A code list has fewer in
all but tiny tables.
"""

MIN_KEY_VALUES = 100
"""Minimum distinct values for a column named like a person's number to be a key, however often values repeat."""

MIN_UNIQUENESS_RECORDS = 20
"""Minimum records for uniqueness to mean anything: in smaller tables everything is unique."""

MIN_SINGLED_OUT_SHARE = 0.5
"""Minimum share of records that are unique by a sensitive value alone for it to be withheld: amounts to the cent."""

MAX_EXACT_INTEGER = 2**53
"""Least number beyond which a DOUBLE does not hold every integer."""

MAX_SAME_CONTENT_SHARE = 0.5
"""Maximum distinct values per record of columns that are compared whether they have the same content."""

MAX_CHANCE_VALUES = 10
"""Maximum distinct values of columns whose names must share a word before they count as having the same content."""

MAX_CONTENT_PAIRS = 20
"""Maximum pairs of columns that are compared whether they have the same content."""

MIN_INTEGER_KEY_RECORDS = 100
"""Minimum records for distinct integers to be a key; among so many, measured numbers coincide."""

MIN_PROSE_LENGTH = 40
"""Minimum average length of texts of several words that may be prose, which may name people."""

MIN_PROSE_DISTINCT_SHARE = 0.5
"""Minimum distinct values per record of prose with fewer than MIN_REPEATED_PROSE_TEXTS texts.
"""

MIN_REPEATED_PROSE_TEXTS = 100
"""Minimum distinct long texts that are prose although each repeats, if MIN_REPEATED_PROSE_SHARE is reached."""

MIN_REPEATED_PROSE_SHARE = 0.02
"""Minimum distinct values per record of such prose; descriptions of codes have fewer in all but small tables."""

MIN_SENTENCE_SHARE = 0.25
"""Minimum share of values that end or continue like sentences for a column to be prose, however often each repeats."""

MAX_SHORT_LENGTH = 3
"""Maximum characters of a number that is a count or an age, or of a code in a short list."""

MAX_DEGREE_PARTS = 100
"""Maximum parts of a degree of latitude or longitude that are no address: a kilometre each."""

POSTAL_WORDS = "zip|post|plz|pocztow|^cep$|^cap$|^cp$|kodepos|pincode|индекс|邮编|郵編|郵便|우편|पिन"
"""Words for a zip code; a distinct text in each record is then still no key of people."""

HOUSE_WORDS = "^(house|apt|apartment|haus|huis)"
"""Words for a house number, which repeats and yet does not identify people."""

MAX_POSTAL_LENGTH = 10
"""Maximum characters of a zip code."""

MAX_UNCHANGED_VALUES = 50
"""Maximum distinct values of a column that is published unchanged by its name alone: departments, products, units.
Columns with more are generalized.
"""

MIN_NAME_SHARE = 0.5
"""Minimum share of values written like names of people for a column to be names."""

MIN_CONTACT_SHARE = 0.05
"""Minimum share of values with a telephone number or an e-mail address for a generalized column to be withheld. An
unchanged column must not have any.
"""

MIN_COVERED_SHARE = 0.5
"""Minimum share of a column's values in a hierarchy with a similar name for it to be proposed. Without a similar name
it is NEARLY_ALL_SHARE: codes of two letters are countries by accident.
"""

MAX_SAMPLE_VALUES = 2000
"""Maximum distinct values that are compared with patterns: a share of 0.95 is then accurate to one percent."""

MAX_UNCHANGED_SAMPLE_VALUES = 50_000
"""Maximum of compared values of a column that would be published unchanged: a single telephone number matters there."""

PATTERNS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "phone numbers": r"(\+\d{1,3}[ .-]?(\(?\d{1,5}\)?[ .-]?)?|\(?\d{3}\)?[ .-])\d{3,4}[ .-]?\d{3,5}"
    r"|(\+|00)\d{1,3}([ ./()-]{0,2}\d{1,5}){2,6}"
    r"|\(?0\d{1,5}\)?( ?[/-] ?| )\d{2,8}([ -]\d{2,5}){0,4}|0\d{9,10}|1[3-9]\d{9}",
    "web addresses": r"(?i)(https?|ftp)://\S+",
    "coordinates": r"(?i)(POINT ?)?\(?-?\d{1,3}\.\d{2,}[,;]? ?-?\d{1,3}\.\d{2,}\)?",
    "UUIDs": r"(?i)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    "IP addresses": r"(\d{1,3}\.){3}\d{1,3}",
}
"""Values that identify a person or a record by their format, whatever the name of the column."""

CONTACT = (
    r"[^\s@]+@[^\s@]+\.\pL{2,}"
    r"|(\+|\b00)\d{1,3}([ ./()-]{0,2}\d{1,5}){3,6}"
    r"|\(?\b0\d{1,5}\)?( ?[/-] ?| )\d{3,8}([ -]\d{2,5}){0,4}"
    r"|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b"
    r"|(?i:\b(tel|telefon|phone|fon|mobil|mobile|handy|cell|call|fax|whatsapp)[\pL]*[ .:]{0,3}\+?[\d(][\d ()/.-]{4,})"
    r"|\b1[3-9]\d{9}\b"
)
"""A telephone number or an e-mail address inside a text."""

DATE = (
    r"(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})"
    r"|\d{1,2}[. /-]{0,2}\pL+\.?[, /-]{0,2}(\d{4}|\d{2})"
    r"|\pL+\.? \d{1,2}(st|nd|rd|th)?,? \d{4}|\d{4}[年년] ?\d{1,2}[月월] ?\d{1,2}[日일])"
    r"([ T,]+\d{1,2}[:.]\d{2}([:.]\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{0,2}))?)?"
)
"""Dates as text: ISO, d.m.y, m/d/y, d-Mon-y, with or without a time of day."""

SURNAME_FIRST = r"\p{Lu}[\pL'’-]+( \p{Lu}[\pL'’-]+)?, ?\p{Lu}[\pL'’.-]*( \p{Lu}[\pL'’.-]*){0,3}"
TITLED = (
    r"(?i:dr|prof|mr|mrs|ms|miss|mx|sir|herr|frau|hr|fr|sr|sra|srta|dott|sig|sigra|mme|mlle|dhr|mevr|pan|pani|bay|bayan|"
    r"г-н|г-жа|shri|smt|bapak|ibu)\.? \p{Lu}[\pL'’. -]+"
)
GIVEN_FIRST = (
    r"\p{Lu}[\pL'’-]*\.?( \p{Lu}\.?)?( (von|van|vom|zu|de|del|della|da|dos|di|du|la|le|bin|ibn|al|el|der|den|ter|y|e))*"
    r"( \p{Lu}[\pL'’-]+){1,3}"
)
"""Names of people as they are written. Places, professions and diseases are written like the last pattern, too."""

SENTENCE = r"\pL{2,}[^.!?]* \pL+[^.!?]*[.!?]+(\s|$)|\p{Han}+[，。！？；]"
"""Several words with a full stop."""

DIAGNOSIS_CODE = r"[A-TV-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?"
"""The format of ICD-10 codes. Codes without a point after the third character look like many other codes."""

MIN_DIAGNOSIS_CODES = 10
"""Minimum distinct values of that format that are no accident: room and shelf numbers look similar, but are few."""

SENSITIVE_HIERARCHIES = ("adult_salary", "icd10")
"""Shipped hierarchies of sensitive values; all others are of values that an attacker may know."""
