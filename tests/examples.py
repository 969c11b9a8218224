"""Models that several tests fit, and a reader of the pages they write."""

from __future__ import annotations

import html.parser

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
# With room for labels of the loadings that are equal at both times.
DEMOCRACY = """ind60 =~ x1 + x2 + x3
dem60 =~ y1 + {0}y2 + {1}y3 + {2}y4
dem65 =~ y5 + {0}y6 + {1}y7 + {2}y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
y1 ~~ y5
y2 ~~ y4 + y6
y3 ~~ y7
y4 ~~ y8
y6 ~~ y8"""


class Cells(html.parser.HTMLParser):
    """Collect the tags and texts of a fragment."""

    def __init__(self, fragment):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(fragment)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())
