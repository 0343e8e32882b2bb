"""Adds to the site one page per method and measure, made from the catalogue."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from sfumato import catalogue
from sfumato.report.catalogue_page import catalogue_index, catalogue_page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Generate the catalogue's pages."""
    pages = {"catalogue/index.md": catalogue_index(catalogue.methods(), catalogue.measures())}
    for folder, known in (("methods", catalogue.methods()), ("measures", catalogue.measures())):
        pages |= {f"catalogue/{folder}/{name}.md": catalogue_page(cls) for name, cls in known.items()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation with every class."""
    methods = [{name: f"catalogue/methods/{name}.md"} for name in catalogue.methods()]
    by_purpose: dict[str, list[dict[str, str]]] = {"risk": [], "utility": []}
    for name, cls in catalogue.measures().items():
        by_purpose[cls.about.purpose].append({name: f"catalogue/measures/{name}.md"})
    measures = [{"Risk": by_purpose["risk"]}, {"Utility": by_purpose["utility"]}]
    assert config.nav is not None
    for section in config.nav:
        if "Catalogue" in section:
            section["Catalogue"] = ["catalogue/index.md", {"Methods": methods}, {"Measures": measures}]
    return config
