"""A report as HTML: sections for the page of the site, and one page that stands alone."""
