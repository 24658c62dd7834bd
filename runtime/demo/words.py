"""Normalises text to words, and counts recognition errors."""

import re

from attrs import frozen

__all__ = ["WordErrors", "word_errors", "words"]

_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_CONTRACTIONS = {
    "won't": "will not",
    "can't": "can not",
    "cannot": "can not",
    "let's": "let us",
    "it's": "it is",
    "that's": "that is",
    "what's": "what is",
    "n't": " not",
    "'m": " am",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
}
_SAME = {"ok": "okay", "metre": "meter", "metres": "meters", "mhm": "mmhmm"}


@frozen
class WordErrors:
    """The edits (substitutions, insertions, deletions) between the text that was said and its
    transcript."""

    edits: int
    said: int

    @property
    def rate(self) -> float:
        """Edits per word said: 0 is perfect, and it can exceed 1."""
        return self.edits / self.said if self.said else float(self.edits > 0)


def words(text: str) -> list[str]:
    """Lower-case words: no punctuation, contractions and digits written out, one spelling."""
    plain = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    for short, full in _CONTRACTIONS.items():
        plain = plain.replace(short, full)
    tokens = re.findall(r"[a-z]+(?:'[a-z]+)?|\d+", plain)
    return [_SAME.get(word, word) for token in tokens for word in _spelt(token)]


def word_errors(said: str, heard: str) -> WordErrors:
    """The Levenshtein distance between the two texts, in words."""
    reference, hypothesis = words(said), words(heard)
    row = list(range(len(hypothesis) + 1))
    for i, expected in enumerate(reference, 1):
        diagonal, row[0] = row[0], i
        for j, found in enumerate(hypothesis, 1):
            substituted = diagonal + (expected != found)
            diagonal = row[j]
            row[j] = min(substituted, row[j] + 1, row[j - 1] + 1)
    return WordErrors(edits=row[-1], said=len(reference))


def _spelt(token: str) -> list[str]:
    if not token.isdigit():
        return [token]
    if len(token) > 2 or (len(token) == 2 and token[0] == "0"):
        return [_ONES[int(digit)] for digit in token]  # a number plate, not a quantity
    number = int(token)
    if number < 20:
        return [_ONES[number]]
    tens = _TENS[number // 10 - 2]
    return [tens, _ONES[number % 10]] if number % 10 else [tens]
