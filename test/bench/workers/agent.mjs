// Cloudflare's McpAgent with the same two tools, as its documentation says. Not TypeScript, so that the types can be
// checked where the package is not installed.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpAgent } from 'agents/mcp'
import * as z from 'zod'
import { serverInfo } from './answers.ts'
import { progressText } from './progress.ts'
import { add } from './tools.ts'

export class BenchAgent extends McpAgent {
  server = new McpServer(serverInfo)

  async init() {
    const { name, title, description, inputSchema, outputSchema } = add
    this.server.registerTool(name, { title, description, inputSchema, outputSchema }, async (input) => {
      const structuredContent = await add.run(input)
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
    })
    const countOnly = z.object({ count: z.int() })
    this.server.registerTool('stream', { description: 'Report progress.', inputSchema: countOnly }, streamTo)
  }
}

async function streamTo({ count }, { _meta, sendNotification }) {
  for (let i = 1; i <= count; i++) {
    const params = { progressToken: _meta.progressToken, progress: i, total: count, message: progressText(i) }
    await sendNotification({ method: 'notifications/progress', params })
    await scheduler.wait(0)
  }
  return { content: [{ type: 'text', text: 'streamed' }] }
}

export default BenchAgent.serve('/mcp', { binding: 'AGENT' })
