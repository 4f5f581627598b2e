// A Worker that is no MCP server and has none of its objects: all it has is a binding to the entrypoint, and a queue.

import type { Notifier } from '../../../workers/notifier.ts'

interface Env {
  MCP: Service<typeof Notifier>
  CHANGES: Queue<string>
}

interface Wish {
  method: string
  args: unknown[]
}

export default {
  async fetch(request, { MCP, CHANGES }) {
    const { method, args } = (await request.json()) as Wish
    if (method === 'send') return Response.json(await CHANGES.send(args[0] as string))
    try {
      const call = (MCP as unknown as { [method: string]: (...args: unknown[]) => Promise<unknown> })[method]!
      await call(...args)
      return Response.json({})
    } catch (error) {
      const { name, message } = error as Error
      return Response.json({ name, message, isTypeError: error instanceof TypeError })
    }
  },
} satisfies ExportedHandler<Env>
