// The client of the AI SDK: its own implementation, with no progress and no SDK underneath.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp'
import { checkOrdinary } from './tasks.mjs'

/** Connects. `discovers` false leaves out the probe, as one must for servers that know only `initialize`. */
export async function connectAiSdk(url, discovers) {
  const errors = []
  const client = await createMCPClient({
    transport: { type: 'http', url },
    capabilities: { elicitation: {} },
    protocolVersionDiscovery: discovers,
    onUncaughtError: (error) => errors.push(error),
  })
  const adapter = {
    cannot: {
      progress: async (wire) => `it has no way to ask for progress; ${await checkOrdinary(adapter, wire)}`,
      sampling: 'it answers no sampling',
      roots: 'it has no roots',
    },
    errors,
    about: async () => ({
      serverInfo: client.serverInfo,
      negotiated: client.initializeResult.protocolVersion,
    }),
    listTools: async () => (await client.listTools()).tools,
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    listPrompts: async () => (await client.listPrompts()).prompts,
    read: async (uri) => (await client.readResource({ uri })).contents,
    getPrompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion,
    callTool: (name, args, { signal } = {}) =>
      client.callTool({ name, arguments: args, ...(signal && { options: { signal } }) }),
    close: () => client.close(),
  }
  client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => adapter.answer(params))
  return adapter
}
