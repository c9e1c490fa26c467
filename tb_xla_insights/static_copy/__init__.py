"""The page as one HTML file that needs no server: the packed page with recorded answers of its routes."""
