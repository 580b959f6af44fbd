"""The interactive page: its template, style sheet, scripts, and the data that they show."""
