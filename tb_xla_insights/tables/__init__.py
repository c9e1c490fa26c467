"""One definition of each table, for the terminal, the HTML report, the page and CSV files."""
