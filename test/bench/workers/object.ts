// The floor of a session: a plain worker before a bare Durable Object that gives back what it gets, or sends events over
// a hibernatable socket to a stream the worker holds. Seals and checks nothing; with STORE it stores each event first, in
// the table an event needs.
import { DurableObject } from 'cloudflare:workers'
import type { Message } from './answers.ts'
import { progressMessage } from './progress.ts'

const keepAliveMs = 25_000
const encoder = new TextEncoder()
const sseHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }

interface Env {
  BARE: DurableObjectNamespace<BareObject>
  STORE?: string
}

export class BareObject extends DurableObject<Env> {
  echo(text: string): string {
    return text
  }

  override fetch(request: Request): Response {
    const { 0: client, 1: socket } = new WebSocketPair()
    this.ctx.acceptWebSocket(socket)
    const { searchParams } = new URL(request.url)
    if (searchParams.has('count'))
      void this.#send(socket, Number(searchParams.get('count')), searchParams.get('result')!)
    return new Response(null, { status: 101, webSocket: client })
  }

  override webSocketClose(): void {}

  async #send(socket: WebSocket, count: number, result: string): Promise<void> {
    const { sql } = this.ctx.storage
    const isStored = this.env.STORE === 'on'
    if (isStored) sql.exec('create table if not exists event (id integer primary key, text text not null)')
    for (let i = 1; i <= count; i++) {
      const message = progressMessage(i, count)
      if (isStored) sql.exec('insert into event (text) values (?)', message)
      socket.send(message)
      await scheduler.wait(0)
    }
    socket.send(result)
    socket.close(1000)
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (request.method === 'GET') return hold(env, id!, '')
    const message = await request.json<Message>()
    if (message.method === 'initialize') return begin(message, env)
    if (message.id === undefined) return new Response(null, { status: 202 })
    const args = message.params?.arguments as { a: number; b: number } | { count: number }
    if ('count' in args)
      return hold(env, id!, new URLSearchParams({ count: `${args.count}`, result: streamed(message) }))
    const structuredContent = { sum: args.a + args.b }
    const content = [{ type: 'text', text: JSON.stringify(structuredContent) }]
    const text = await stubOf(env, id!).echo(answer(message, { content, structuredContent }))
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  },
}

function begin(message: Message, env: Env): Response {
  const headers = { 'content-type': 'application/json', 'mcp-session-id': env.BARE.newUniqueId().toString() }
  return new Response(answer(message, { protocolVersion: '2025-11-25', capabilities: {} }), { headers })
}

async function hold(env: Env, id: string, query: URLSearchParams | string): Promise<Response> {
  const { webSocket } = await stubOf(env, id).fetch(`http://bare/?${query}`, { headers: { Upgrade: 'websocket' } })
  const socket = webSocket!
  let timer: ReturnType<typeof setInterval>
  const body = new ReadableStream<Uint8Array>({
    start(out) {
      socket.addEventListener('message', ({ data }) => out.enqueue(encoder.encode(`event: message\ndata: ${data}\n\n`)))
      socket.addEventListener('close', () => {
        clearInterval(timer)
        out.close()
      })
      socket.accept()
      out.enqueue(encoder.encode(': open\n\n'))
      timer = setInterval(() => out.enqueue(encoder.encode(': keep-alive\n\n')), keepAliveMs)
    },
    cancel() {
      clearInterval(timer)
      socket.close(1000)
    },
  })
  return new Response(body, { headers: sseHeaders })
}

function stubOf(env: Env, id: string): DurableObjectStub<BareObject> {
  return env.BARE.get(env.BARE.idFromString(id))
}

function streamed(message: Message): string {
  return answer(message, { content: [{ type: 'text', text: 'streamed' }] })
}

function answer({ id }: Message, result: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}
