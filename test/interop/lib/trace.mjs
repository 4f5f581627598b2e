// What a client sends and gets, recorded in its own `fetch`: for servers that must be reached at their own URL.

/** A `fetch` and the requests that went through it, oldest first. Bodies of answers are left alone. */
export function traceFetch() {
  const requests = []
  const trace = {
    requests,
    /** Holds a request back until what it returns resolves. */
    gate: (_request) => {},
    async fetch(input, init = {}) {
      const url = new URL(input)
      const sent = { method: init.method ?? 'GET', url, headers: new Headers(init.headers), body: init.body, status: 0 }
      requests.push(sent)
      await trace.gate(sent)
      const response = await fetch(input, init)
      sent.status = response.status
      sent.answerHeaders = response.headers
      return response
    },
    /** The requests that sent this JSON-RPC method. */
    calls: (method) => requests.filter((request) => messagesOf(request).some((message) => message.method === method)),
    /** The GETs of streams. */
    gets: () => requests.filter(({ method, url }) => method === 'GET' && url.pathname === '/mcp'),
    /** The parameters of the token requests of one grant. */
    grants: (type) => requests.map(formOf).filter((form) => form?.get('grant_type') === type),
    /** Everything since, as `GET /path 200`. */
    lines: (since = 0) => requests.slice(since).map(({ method, url, status }) => `${method} ${url.pathname} ${status}`),
  }
  return trace
}

function messagesOf({ url, method, body }) {
  return url.pathname === '/mcp' && method === 'POST' ? [JSON.parse(body)].flat() : []
}

function formOf({ url, body }) {
  return url.pathname === '/oauth/token' ? new URLSearchParams(String(body)) : undefined
}
