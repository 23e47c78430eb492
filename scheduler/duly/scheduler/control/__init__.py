"""The control API: schedules and what became of their ticks, over HTTP, by the same functions as the command line.

Model. `app.create_app` puts routes around one store. A route reads what it was asked, calls the store or what
`duly.common.explain` says of it, as the command line does, and hands on the answer; no rule about schedules lives here.
`guard.Guard` stands before every route, `problems` turns every refusal into an RFC 9457 body, `document` says in
OpenAPI what there is, and `schemas` is what tests hold every reply against. The console's pages, where installed, are
mounted beside the API.

Invariants. Every list is bounded, and its cursor stays right while records come. A change carries what its maker saw:
a revision in `If-Match`, a version in ``seen``, an `Idempotency-Key`. No reply holds what a task is called with but
that of the schedule itself, and none the backend's own words. No status comes that the document does not name.

Security. On loopback without a token whoever is on the machine may do everything; a page of another site may not
(Host, Origin and Sec-Fetch-Site are checked, and the API takes JSON only). Any other address needs a token, compared
in constant time. Bodies are bounded and well-formed before anything parses them.

Failure handling. A store that is away is a 503 at once: connections do not retry, and the next request finds out for
itself whether it is back. Whatever nobody expected is a 503 too, whose kind is logged and nothing else of it.

Non-goals. TLS and names of people (a proxy has both), reading from other sites (no CORS), rates. A web server on a
public address belongs behind a proxy that limits connections.
"""
