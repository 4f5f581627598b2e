// Sends requests in turn to two Workers over the same objects, as a platform with many isolates would: what one publishes
// has to reach who listens at the other. A request may name its Worker in `x-worker`, and every answer says which it was.
// With TOKEN set it sends that with every request, for clients that know no authorization.

interface Env {
  TOKEN?: string
  [worker: string]: Fetcher | string | undefined
}

let turn = 0

export default {
  async fetch(request, env) {
    const name = request.headers.get('x-worker') ?? (turn++ % 2 === 0 ? 'first' : 'second')
    const sent = new Request(request)
    if (env.TOKEN) sent.headers.set('authorization', `Bearer ${env.TOKEN}`)
    const answer = await (env[name] as Fetcher).fetch(sent)
    const { body, status, statusText, headers } = answer
    const named = new Headers(headers)
    named.set('x-worker', name)
    return new Response(body, { status, statusText, headers: named })
  },
} satisfies ExportedHandler<Env>
