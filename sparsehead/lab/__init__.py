"""The lab: the verbs on a page in the browser, served on one's own machine. `sparsehead lab` starts it.

Requests come in over HTTP; JSON, files and pictures go out. Read in this order:

server        a socket, an address with a token, and the end at Ctrl-C
connections   how many connections there are, and how long a request may take to arrive
safety        what a request must pass before anything sees it: Host, Origin, token, size; the headers of every answer
remembered    answers that depend on the request alone, sent again without computing them again
app, pages    the application: pages and their files, endpoints
requests, answers, head   types of fields; how errors and heads are answered
endpoints     one file per page: requests in, what the library answers out
sandbox       uploaded files, parsed in a process of their own with limits on memory and time
jobs, journal long work in worker processes, with progress as server-sent events; jobs that an earlier server left
work, worker, live   the kinds of jobs; the process that does one; a runner that lets one watch a training
extension     what other packages add: endpoints, jobs, laws
static        the front end: ES modules, no bundler, nothing fetched from elsewhere
"""
