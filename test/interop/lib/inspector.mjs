// The Inspector's command line: one process, one connection and one method each time.
import { environmentIn, packageFile, runScript } from './command.mjs'

const script = packageFile('@modelcontextprotocol/inspector', 'clients/launcher/build/index.js')

/**
 * An adapter that runs the command line for each method, under one protocol era or its default. `more` are further flags
 * and variables.
 */
export function adaptInspector(url, home, era, more = {}) {
  const env = environmentIn(home, { MCP_INSPECTOR_SECRET_STORE: 'memory', ...more.env })
  const chosen = [...(era ? ['--protocol-era', era] : []), ...(more.flags ?? [])]
  const flags = ['--cli', url, '--transport', 'http', '--format', 'json', ...chosen]
  const run = async (method, ...args) => {
    const { stdout, stderr } = await runScript(script, [...flags, '--method', method, ...args], env)
    // A tool error is a result on stdout, and an exit code; other errors are on stderr, after what it tells its user.
    if (stdout === '') throw new Error(JSON.parse(stderr.slice(stderr.indexOf('{"error"'))).error.message)
    return JSON.parse(stdout).result
  }
  const call = (name, args, { onProgress } = {}) => {
    const token = onProgress ? ['--tool-metadata', 'progressToken=interop'] : []
    return run('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args), ...token)
  }
  return {
    cannot: { complete: 'it has no method for completion' },
    showsProgress: false,
    // It prints neither; the wire says what was agreed on.
    about: () => run('tools/list').then(() => ({})),
    listTools: async () => (await run('tools/list')).tools,
    listResources: async () => (await run('resources/list')).resources,
    listTemplates: async () => (await run('resources/templates/list')).resourceTemplates,
    listPrompts: async () => (await run('prompts/list')).prompts,
    read: async (uri) => (await run('resources/read', '--uri', uri)).contents,
    async getPrompt(name, args) {
      const pairs = Object.entries(args).map(([key, value]) => `${key}=${value}`)
      return (await run('prompts/get', '--prompt-name', name, '--prompt-args', ...pairs)).messages
    },
    callTool: call,
    // It waits for a task by itself: one that the server makes, or that the list says it has to ask for.
    runTask: call,
  }
}
