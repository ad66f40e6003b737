"""The press: executes the notebooks, prepares the pages and builds the site.

Read in the order of the work: `notebook` (reading, cleaning), `trace` (which files a chapter used),
`execute` (running what changed), `pages` (notebook outputs to page elements), `site` (the website).
"""
