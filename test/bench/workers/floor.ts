// The floor: what hono, JSON and zod cost for the same work, and nothing else. Knows no header, error or revision rules.
import { Hono } from 'hono'
import { createToolList, discovery, isModern, stamp, type Message } from './answers.ts'
import { add, convertTools } from './tools.ts'

declare const TOOL_COUNT: number

const toolList = createToolList(convertTools(TOOL_COUNT))
const app = new Hono()

app.post('/mcp', async (c) => {
  const message = await c.req.json<Message>()
  return c.json({ jsonrpc: '2.0', id: message.id, result: await answer(message) })
})

export default app

async function answer(message: Message): Promise<object> {
  switch (message.method) {
    case 'tools/call':
      return call(message)
    case 'tools/list':
      return toolList
    case 'server/discover':
      return discovery
    default:
      throw new Error(`cannot answer "${message.method}"`)
  }
}

async function call(message: Message): Promise<object> {
  const structuredContent = await add.run(add.inputSchema.parse(message.params?.arguments))
  const content = [{ type: 'text', text: JSON.stringify(structuredContent) }]
  return { content, structuredContent, ...(isModern(message) && stamp) }
}
