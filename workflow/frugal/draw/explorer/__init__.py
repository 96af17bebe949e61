"""The report as one page to explore: its parts as plain JSON, and the page that shows them."""
