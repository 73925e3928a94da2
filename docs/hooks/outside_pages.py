"""Pages of the repository that lie outside docs/ become pages of the site, and links from page to page follow them.

The README is the first page. A link to a file that the site does not have becomes the name of that file; a link to one
that does not exist ends the build.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "deploy/README.md": "deploy.md",
    "vectors/README.md": "vectors.md",
}
"""Where each page stands in the site, by its path in the repository."""
OUTSIDE = {page: path for path, page in PAGES.items()}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for path, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let every link of a page lead to a page of the site."""
    here = page.file.src_uri
    path = OUTSIDE.get(here, f"docs/{here}")

    def follow(link: re.Match[str]) -> str:
        image, text, target = link.groups()
        name, hash_, anchor = target.partition("#")
        if "://" in name or not name:
            return link[0]
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        inside = _page_of(found, files)
        if inside is not None:
            return f"{image}[{text}]({posixpath.relpath(inside, posixpath.dirname(here) or '.')}{hash_}{anchor})"
        if not (ROOT / found).exists():
            raise PluginError(f"{path} links to {target}, and there is no {found}; correct the link")
        return text if found in text else f"{text} (`{found}`)"

    return LINK.sub(follow, markdown)


def _page_of(path: str, files: Files) -> str | None:
    """The file of the site for a path of the repository."""
    for candidate in (PAGES.get(path), path.removeprefix("docs/"), f"{path.removeprefix('docs/')}/README.md"):
        if candidate and (path.startswith("docs/") or path in PAGES) and files.get_file_from_path(candidate):
            return candidate
    return None
