"""The press: executes the notebooks, prepares the pages and builds the site.

Read in the order of the work: `notebook` (reading, cleaning), `trace` (which files a chapter used), `execute` (running
what changed), `edition` with `prose` (the readers' notebooks), `pages` (notebook outputs to page elements), `site` (the
website).
"""
