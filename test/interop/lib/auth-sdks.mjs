// Both versions of the official client with an OAuth provider, as their hosts use them: a connection that is refused sends
// the person to the browser, what they come back with is handed over, and the host tries again.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { tokenSeconds } from './authorized.mjs'
import { adapt } from './client-2.mjs'
import { adaptTasks } from './sdk-1.mjs'

/** Longer than a token lives. */
const callTimeoutMs = 2 * tokenSeconds * 1_000
const clientInfo = { name: 'interop', version: '1.0.0' }

/** `connect` makes an adapter, `finish` takes the parameters of the redirect. @param mode of negotiation */
export function useClient2({ authorized, person, trace }, mode) {
  let transport
  return {
    async connect() {
      const client = new Client(clientInfo, { versionNegotiation: { mode } })
      transport = makeTransport(StreamableHTTPClientTransport, authorized, person, trace)
      const adapter = adapt(client, transport)
      await client.connect(transport)
      return Object.assign(adapter, { sessionId: () => transport.sessionId })
    },
    // It checks `iss` itself.
    finish: (params) => transport.finishAuth(params),
  }
}

/** The same for version 1, with its tasks. `confirm` says what the person answers when a tool asks them. */
export function useSdk1({ authorized, person, trace }, confirm = () => ({ action: 'decline' })) {
  let transport
  return {
    async connect() {
      const client = new Client1(clientInfo, { capabilities: { elicitation: {} } })
      transport = makeTransport(Transport1, authorized, person, trace)
      const adapter = adapt(client, transport, (params, options) =>
        client.callTool(params, undefined, { ...options, timeout: callTimeoutMs }),
      )
      client.setRequestHandler(ElicitRequestSchema, confirm)
      await client.connect(transport)
      return Object.assign(adapter, { sessionId: () => transport.sessionId }, adaptTasks(client))
    },
    finish: (params) => transport.finishAuth(params.get('code')),
  }
}

function makeTransport(Transport, { mcp }, { provider: authProvider }, { fetch }) {
  return new Transport(new URL(mcp), { authProvider, fetch })
}
