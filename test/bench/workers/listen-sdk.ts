// The official SDK's change notifications as its documentation says: a handler with the bus it makes itself, which reaches
// the streams of this isolate only. Its cap of 1,024 streams is raised; comments come as often as ours.
import { createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { serverInfo } from './answers.ts'

const handler = createMcpHandler(
  () => {
    const server = new McpServer(serverInfo, {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
    })
    const change = new ResourceTemplate('bench://change/{id}', { list: undefined })
    server.registerResource('change', change, {}, (uri, { id }) => ({
      contents: [{ uri: uri.href, text: `what ${String(id)} is` }],
    }))
    return server
  },
  { maxSubscriptions: 100_000, keepAliveMs: 25_000 },
)

export default {
  fetch(request: Request): Promise<Response> | Response {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/mcp') return handler.fetch(request)
    if (pathname === '/publish') handler.notify.resourceUpdated(searchParams.get('uri')!)
    return new Response(null, { status: 204 })
  },
}
