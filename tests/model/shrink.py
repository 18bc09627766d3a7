# SPDX-License-Identifier: Apache-2.0
"""Makes a chain that fails smaller, as long as it still fails."""

import re


def calls(text):
    """The calls of a chain, as texts."""
    parts, depth, quote, begin = [], 0, None, 0
    for i, char in enumerate(text):
        if quote:
            quote = None if char == quote and text[i - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "." and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


def smaller(text):
    """Chains to try instead: without a call, or with a smaller number."""
    parts = calls(text)
    is_endless = re.search(r"counter\(|random\(|repeat\((-1)?\)", text)
    for i in range(len(parts) - 1, 0, -1):
        if is_endless and parts[i].startswith("take"):
            continue  # it would never end
        yield ".".join(parts[:i] + parts[i + 1 :])
    for found in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", text):
        number = int(found.group())
        for less in sorted({0, number // 2, number - 1}):
            if 0 <= less < number:
                yield text[: found.start()] + str(less) + text[found.end() :]


def shrink(text, fails, patience=200):
    """The smallest chain that was found for which fails(text) is true; it is for `text`."""
    found = True
    while found and patience > 0:
        found = False
        for other in smaller(text):
            patience -= 1
            if patience <= 0:
                break
            if fails(other):
                text, found = other, True
                break
    return text
