"""The lab: a local web application with one page per command. `sparsehead lab` starts it.

Requests come in over HTTP; JSON, files and pictures go out. Read in this order:

server        open a socket, print the address with its token, serve until Ctrl-C
connections   limits on the number of connections and on the time that a request may take to arrive
safety        checks of every request (Host, Origin, token, size), and the headers of every response
remembered    a cache of responses that depend on the request alone
app, pages    the application: pages and their files, endpoints
error_page    a refusal, or an address that does not exist, as a page
requests, answers, head   types of request fields; error responses and file downloads; a head as tables for the browser
endpoints     one file per page: parse the request, call the library, return its result as JSON
sandbox       parse uploaded files in a separate process with limits on memory and time
jobs, journal long work in worker processes, with progress as server-sent events; jobs left by an earlier server
work, worker, live   the kinds of jobs; the process that runs one job; training that reports attention as it runs
stored        stored runs and laws: the user's, and examples that come with the lab
alone         Build, Cover and Check as files that work without a server
extension     what other packages add: endpoints, jobs, laws
static        the front end: ES modules, no bundler, nothing fetched from elsewhere
"""
