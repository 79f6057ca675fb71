"""The observers' reports as HTML pages: they know what a page shows, not the observers."""
