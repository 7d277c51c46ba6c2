"""A run as one HTML file that opens offline: styles, program and data are inside, no host is contacted, and a content
policy allows only our own style and program, by their hash. Start at `page.write_html`.

Everything agents, users and judges wrote is escaped text or data: JSON that the page's program turns into text nodes,
never into markup. The most important part is in the page itself and needs no program. Results are read once, in order,
and memory grows by one short entry a result; the file stays under `page.MAX_FILE_BYTES` bytes."""
