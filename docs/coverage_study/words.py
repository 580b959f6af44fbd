def page(rows): return str(rows)
