// The floor of change notifications: a plain worker that holds a stream per client, fed by a hibernatable socket of one bare
// Durable Object, which sends all of them the same text. Checks, stores, filters and replays nothing; a socket that breaks
// is made again at once.
import { DurableObject } from 'cloudflare:workers'
import type { Message } from './answers.ts'

const keepAliveMs = 25_000
const pauseMs = 100
const encoder = new TextEncoder()
const sseHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }

const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId'

interface Env {
  HUB: DurableObjectNamespace<FloorHub>
}

export class FloorHub extends DurableObject<Env> {
  readonly #bornMs = Date.now()

  override fetch(): Response {
    const { 0: client, 1: socket } = new WebSocketPair()
    this.ctx.acceptWebSocket(socket)
    return new Response(null, { status: 101, webSocket: client })
  }

  override webSocketClose(): void {}

  publish(text: string): void {
    for (const socket of this.ctx.getWebSockets()) socket.send(text)
  }

  state(): { listeners: number; bornMs: number } {
    return { listeners: this.ctx.getWebSockets().length, bornMs: this.#bornMs }
  }

  kill(): void {
    this.ctx.abort('killed by the benchmark')
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    switch (pathname) {
      case '/mcp':
        return listen((await request.json<Message>()).id, env)
      case '/publish':
        await hubOf(env).publish(updated(searchParams.get('uri')!))
        return new Response(null, { status: 204 })
      case '/hubs':
        return Response.json([await hubOf(env).state()])
      case '/kill':
        // It fails, since what it calls is gone.
        await Promise.allSettled([hubOf(env).kill()])
        return new Response(null, { status: 204 })
      default:
        return new Response(null, { status: 204 })
    }
  },
}

async function listen(id: number | string, env: Env): Promise<Response> {
  let socket = await connect(env)
  let isOpen = true
  let timer: ReturnType<typeof setInterval>
  const body = new ReadableStream<Uint8Array>({
    start(out) {
      const send = (text: string) => out.enqueue(encoder.encode(`event: message\ndata: ${text}\n\n`))
      const attach = () => {
        socket.addEventListener('message', ({ data }) => send(data as string))
        socket.addEventListener('close', () => void again())
        socket.accept()
      }
      const again = async () => {
        while (isOpen) {
          try {
            socket = await connect(env)
            return attach()
          } catch {
            // The object is restarting.
            await scheduler.wait(pauseMs)
          }
        }
      }
      attach()
      send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: tag(id) }))
      timer = setInterval(() => out.enqueue(encoder.encode(': keep-alive\n\n')), keepAliveMs)
    },
    cancel() {
      isOpen = false
      clearInterval(timer)
      socket.close(1000)
    },
  })
  return new Response(body, { headers: sseHeaders })
}

async function connect(env: Env): Promise<WebSocket> {
  const { webSocket } = await hubOf(env).fetch('http://hub/', { headers: { upgrade: 'websocket' } })
  return webSocket!
}

function hubOf(env: Env): DurableObjectStub<FloorHub> {
  return env.HUB.getByName('hub')
}

/** Every listener has the same request id, so that one text fits all. */
function updated(uri: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, ...tag(7) } })
}

function tag(id: number | string): object {
  return { _meta: { [subscriptionIdKey]: id } }
}
