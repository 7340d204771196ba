"""The lab: the verbs on a page in the browser, served on one's own machine. `sparsehead lab` starts it.

connections   how many connections there are, and how long a request may take to arrive
safety     what a request must pass before anything sees it: Host, Origin, token, size; the headers of every answer
app        the application: pages, endpoints, how errors are answered
remembered answers that depend on the request alone, sent again without computing them again
answers, head   how errors and heads are answered
extension  what other packages add: endpoints, jobs, laws
endpoints  one file per page: requests in, the records of the library out
sandbox    uploaded files, parsed in a process of their own with limits on memory and time
journal    jobs that an earlier server left, checked as requests are
jobs       long work in worker processes, with progress as server-sent events
worker     what runs in such a process: the existing sweep and store
server     a socket, an address with a token, and the end at Ctrl-C
static     the front end: ES modules, no bundler, nothing fetched from elsewhere
live       a runner that lets one watch a training
"""
