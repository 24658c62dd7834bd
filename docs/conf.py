"""The documentation as a site: `make docs` writes it to build/docs.

Sphinx reads from the top of the repository, so that a link which works there works in the site.
"""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "turnfsm"
copyright = "the turnfsm authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

root_doc = "docs/index"
include_patterns = ["docs/*.md", "diagrams/*.md", "examples/README.md", "*.md"]
exclude_patterns = ["README.md"]
suppress_warnings = [
    "toc.not_included",  # diagrams/README links its pages itself
    "ref.python",  # a docstring's `state` is the one of its own class
]

html_theme = "furo"
html_title = "turnfsm"
html_extra_path = ["_site"]

myst_heading_anchors = 3

default_role = "code"  # docstrings write names as `name`
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_mock_imports = ["pipecat"]  # 340 MB for the names of a few classes
napoleon_use_ivar = True  # attrs classes list their fields under Attributes


sys.path.insert(0, str(Path(__file__).parent / "playground"))


def add_playground(app: Sphinx, failed: Exception | None) -> None:
    from playground import write

    if failed is None and app.builder.format == "html":
        why = write(Path(app.outdir) / "playground")
        print(f"the playground was left out: {why}" if why else "the playground is in playground/")


def setup(app: Sphinx) -> None:
    app.add_lexer("mermaid", TextLexer)
    app.connect("build-finished", add_playground)
