"""The limits by which the values of a column are judged for a proposed role.

A proposal is a start, not a verdict: it errs to the safe side, and the custodian decides. What neither its name nor its
values tell is withheld and left for review; nothing is published as it is because nothing speaks
against it.
"""

RARE_RECORDS = 10
"""Records below which a value is rare: the usual k, at which an `other` column with such a value is refused."""

NEARLY_ALL_SHARE = 0.95
"""Share of distinct values, or of values of one pattern, that counts as nearly all: typing errors must not hide it."""

MIN_KEY_DISTINCT_SHARE = 0.05
"""Least distinct values a record of a column that is a key though it repeats: 20 records a key on average. A code list
stays below it in all but tiny tables."""

MIN_KEY_VALUES = 100
"""So many distinct values make a column that is named like a person's number a key, however often they repeat."""

MIN_UNIQUENESS_RECORDS = 20
"""Below so many records everything looks unique, so that uniqueness alone says nothing."""

MIN_INTEGER_KEY_RECORDS = 100
"""From so many records on, a whole number of its own in each of them is a key; measured numbers coincide by then."""

MIN_PROSE_LENGTH = 40
"""Average length from which texts of several words may be prose, which may name people."""

MIN_PROSE_DISTINCT_SHARE = 0.5
"""Least distinct values a record of prose that is short of PROSE_TEXTS: canned phrases repeat more often."""

MIN_REPEATED_PROSE_TEXTS = 100
"""So many different long texts are prose though each repeats, if they are more than PROSE_REPEATED of the records."""

MIN_REPEATED_PROSE_SHARE = 0.02
"""Least distinct values a record of such prose: descriptions of codes stay below it in all but small tables."""

MIN_SENTENCE_SHARE = 0.25
"""Share of values that end or go on as sentences do, from which a column is prose however often each repeats."""

MAX_SHORT_LENGTH = 3
"""Most characters of a number that says how many or how old, or of a code in a short list."""

MAX_DEGREE_PARTS = 100
"""Into so many parts a degree of latitude or longitude may be divided without being an address: a kilometre each."""

POSTAL_WORDS = "zip|post|plz|pocztow|^cep$|^cap$|^cp$|kodepos|pincode|индекс|邮编|郵編|郵便|우편|पिन"
"""Words for a zip code: a text of its own for each record is still no key of people."""

HOUSE_WORDS = "^(house|apt|apartment|haus|huis)"
"""Words for a number of a house, which repeats and yet counts no people."""

MAX_POSTAL_LENGTH = 10
"""Most characters of a zip code."""

MAX_UNCHANGED_VALUES = 50
"""Most values of a column that is published as it is by its name alone: departments, products, units. What has more is
generalized."""

MIN_NAME_SHARE = 0.5
"""Least share of values that are written as names of people are, for a column to be taken for names."""

MIN_CONTACT_SHARE = 0.05
"""Share of values that hold a telephone number or an e-mail address, from which generalized columns are withheld. What
would be published as it is must hold none."""

MIN_COVERED_SHARE = 0.5
"""Least share of a column's values in a hierarchy of like name for it to be named at all. Without a like name it is
NEARLY: codes of two letters are countries by accident."""

MAX_SAMPLE_VALUES = 2000
"""Distinct values that are compared with patterns: a share of 0.95 is then known to one percent."""

MAX_UNCHANGED_SAMPLE_VALUES = 50_000
"""The same of columns that their name would publish as they are: there a single telephone number counts."""

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
"""Values that identify a person or a record by their form, whatever the column is called."""

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
"""Dates as text: ISO, d.m.y, m/d/y, d-Mon-y, with a time of day or without."""

SURNAME_FIRST = r"\p{Lu}[\pL'’-]+( \p{Lu}[\pL'’-]+)?, ?\p{Lu}[\pL'’.-]*( \p{Lu}[\pL'’.-]*){0,3}"
TITLED = (
    r"(?i:dr|prof|mr|mrs|ms|miss|mx|sir|herr|frau|hr|fr|sr|sra|srta|dott|sig|sigra|mme|mlle|dhr|mevr|pan|pani|bay|bayan|"
    r"г-н|г-жа|shri|smt|bapak|ibu)\.? \p{Lu}[\pL'’. -]+"
)
GIVEN_FIRST = (
    r"\p{Lu}[\pL'’-]*\.?( \p{Lu}\.?)?( (von|van|vom|zu|de|del|della|da|dos|di|du|la|le|bin|ibn|al|el|der|den|ter|y|e))*"
    r"( \p{Lu}[\pL'’-]+){1,3}"
)
"""How names of people are written. Places, professions and diseases are written like the last, too."""

SENTENCE = r"\pL{2,}[^.!?]* \pL+[^.!?]*[.!?]+(\s|$)|\p{Han}+[，。！？；]"
"""Several words with a full stop."""

DIAGNOSIS_CODE = r"[A-TV-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?"
"""The form of ICD-10 codes. Codes without a point behind the third character look like much else."""

MIN_DIAGNOSIS_CODES = 10
"""Distinct values of that form that are no accident: room and shelf numbers look alike, but few at a time."""

SENSITIVE_HIERARCHIES = ("adult_salary", "icd10")
"""Shipped hierarchies of what must not be learned; all others are of what somebody could know from elsewhere."""
