# SPDX-License-Identifier: Apache-2.0
"""What mkdocs is told beyond its configuration: how fences are shown, and what can be found.

A fence of the documents says how the tests run it (```sh run, ```chain, ```python tensorflow); here
that becomes the language it is coloured as. Sections of all pages go into finder.js, which the
search field of the theme reads.
"""

import html
import json
import re
from pathlib import Path

from pygments.formatters import HtmlFormatter

LANGUAGES = {"": "python", "chain": "python", "recipe": "python", "sh": "bash"}
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"<h([123])[^>]*id=\"([^\"]+)\"[^>]*>(.*?)</h\1>", re.DOTALL)
COLOUR = re.compile(r"</?span[^>]*>")
TAG = re.compile(r"<[^>]+>")
# [ops.md](ops.md) is good to read in a file; on the site a page has its title.
FILE_LINK = re.compile(r"\[([a-z-]+\.md)\]\((\1(?:#[^)]*)?)\)")
DARK = "@media (prefers-color-scheme: dark)"

sections = []  # of the pages built so far: [address, page, heading, text]
titles = {}  # of pages by file name, as the navigation has them


def on_nav(nav, config, files):
    sections.clear()
    titles.clear()
    titles.update({page.file.src_uri: page.title for page in nav.pages})
    return nav


def shown_fence(match):
    word = match[1].split()[0] if match[1].split() else ""
    return f"```{LANGUAGES.get(word, word)}\n{match[2]}```"


def on_page_markdown(markdown, page, config, files):
    text = FENCE.sub(shown_fence, markdown)
    return FILE_LINK.sub(lambda match: f"[{titles.get(match[1], match[1])}]({match[2]})", text)


def plain(text):
    return " ".join(html.unescape(TAG.sub(" ", COLOUR.sub("", text))).split())


def on_page_content(content, page, config, files):
    found = list(HEADING.finditer(content))
    for number, match in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(content)
        heading = plain(match[3]).removesuffix("#").strip()
        text = plain(content[match.end() : end])
        sections.append([f"{page.file.url}#{match[2]}", page.title, heading, text])
    # Wide tables scroll by themselves on a small screen.
    content = content.replace("<table>", '<div class="wide"><table>')
    return content.replace("</table>", "</table></div>")


def on_post_build(config):
    site = Path(config.site_dir)
    data = json.dumps(sections, ensure_ascii=False).replace("</", "<\\/")
    finder = site / "finder.js"
    script = finder.read_text(encoding="utf-8")
    finder.write_text(f"const sections = {data};\n{script}", encoding="utf-8")
    light = HtmlFormatter(style="friendly").get_style_defs(".codehilite")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".codehilite")
    (site / "code.css").write_text(f"{light}\n{DARK} {{\n{dark}\n}}\n", encoding="utf-8")
