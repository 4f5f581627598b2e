// The floor below the floor: parse, switch, answer from strings made beforehand. No validation, no library.
import { discovery, isModern, stamp, type Message } from './answers.ts'

/** JSON made before bundling, so that this worker carries no schema library. */
declare const TOOL_LIST_JSON: string

const discoveryJson = JSON.stringify(discovery)
const init = { headers: { 'content-type': 'application/json' } }

export default {
  async fetch(request: Request): Promise<Response> {
    const message = await request.json<Message>()
    return new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${answer(message)}}`, init)
  },
}

function answer(message: Message): string {
  switch (message.method) {
    case 'tools/call':
      return call(message)
    case 'tools/list':
      return TOOL_LIST_JSON
    case 'server/discover':
      return discoveryJson
    default:
      throw new Error(`cannot answer "${message.method}"`)
  }
}

function call(message: Message): string {
  const args = message.params?.arguments as { a: number; b: number }
  const structuredContent = { sum: args.a + args.b }
  const content = [{ type: 'text', text: JSON.stringify(structuredContent) }]
  return JSON.stringify({ content, structuredContent, ...(isModern(message) && stamp) })
}
