// Calls a method of the entrypoint for a test: `{ method, args }` in, `{ result }` out.

interface Env {
  AUTHORIZATION: Record<string, (...args: unknown[]) => Promise<unknown>>
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method !== 'POST') return new Response('ready')
    const { method, args } = await request.json<{ method: string; args: unknown[] }>()
    try {
      return Response.json({ result: await env.AUTHORIZATION[method]!(...args) })
    } catch (error) {
      return new Response(String(error), { status: 400 })
    }
  },
}
